"""The controls of a page as the server describes them, values for them, and the messages that set them."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streamlit.proto.NumberInput_pb2 import NumberInput
from streamlit.proto.Slider_pb2 import Slider
from streamlit.proto.WidgetStates_pb2 import WidgetState

WIDEST = 10_000.0  # a number without limits is drawn from minus to plus this
TRIES = 40
RANGE = re.compile(r'"input": ?"range"')  # what the text of a chart with a slider has in it


@dataclass
class Widget:
    key: str
    id: str
    kind: str
    element: Any
    fragment: str
    value: Any

    def state(self) -> WidgetState:
        state = WidgetState(id=self.id)
        match self.kind:
            case "number_input":
                state.double_value = self.value
            case "slider":
                state.double_array_value.data.extend(self.value)
            case "button_group":
                state.string_array_value.data.extend(self.value)
            case "checkbox":
                state.bool_value = self.value
            case _ if self.value is not None:
                state.string_value = self.value
        return state

    @property
    def choices(self) -> list[str]:
        if self.kind == "button_group":
            return [option.content for option in self.element.options]
        return list(self.element.options) if self.kind in ("selectbox", "radio") else []

    def other_value(self, draw: random.Random) -> Any:
        """A value in its range, at random, that it does not have now. None where there is no other."""
        for _ in range(TRIES):
            value = self._any_value(draw)
            if value != self.value:
                return value
        return None

    def _any_value(self, draw: random.Random) -> Any:
        element = self.element
        match self.kind:
            case "number_input":
                low = element.min if element.has_min else -WIDEST
                high = element.max if element.has_max else WIDEST
                return _number(draw, low, high, element.step, element.data_type == NumberInput.INT)
            case "slider":
                is_whole = element.data_type == Slider.INT
                return [_number(draw, element.min, element.max, element.step, is_whole)]
            case "selectbox" | "radio":
                return draw.choice(self.choices)
            case "button_group":
                several = len(element.default) > 1 or not element.required
                count = draw.randint(1, len(self.choices)) if several else 1
                return draw.sample(self.choices, count)
            case "checkbox":
                return not self.value
            case "vega_lite_chart":
                if (slider := _chart_slider(element)) is None:
                    return self.value
                name, field, bind = slider
                at = _number(draw, bind["min"], bind["max"], bind.get("step", 0), is_whole=False)
                return json.dumps({"selection": {name: [{field: at}]}})
            case _:
                return f"{draw.uniform(-500, 500):.6g}"


def _number(draw: random.Random, low: float, high: float, step: float, is_whole: bool) -> float:
    steps = int((high - low) / step) if step else 0
    value = low + step * draw.randint(0, steps) if is_whole or steps else draw.uniform(low, high)
    return min(float(value), high)


def _chart_slider(chart: Any) -> tuple[str, str, dict[str, Any]] | None:
    """The selection that tells where a chart's slider is, its field, and the slider's range."""
    for param in _params(json.loads(chart.spec)):
        bind = param.get("bind")
        if param["name"] in chart.selection_mode and isinstance(bind, dict):
            field = param["select"]["fields"][0]
            bind = bind.get(field, bind)
            if bind.get("input") == "range":
                return param["name"], field, bind
    return None


def _params(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from spec.get("params", [])
    for inside in ("layer", "hconcat", "vconcat"):
        for part in spec.get(inside, []):
            yield from _params(part)


def widget_of(kind: str, element: Any, fragment: str) -> Widget | None:
    """The control that an element is; None where it is none that a value can be given to."""
    match kind:
        case "number_input" | "checkbox" | "text_input":
            value = element.value if element.set_value else element.default
        case "slider":
            value = list(element.value if element.set_value else element.default)
        case "selectbox" | "radio":
            value = element.raw_value if element.set_value else _option(element, element.default)
        case "button_group":
            chosen = [element.options[place].content for place in element.default]
            value = list(element.raw_values) if element.set_value else chosen
        case "vega_lite_chart":
            if not element.selection_mode or not RANGE.search(element.spec):
                return None
            return Widget(element.id.split("-", 2)[2], element.id, kind, element, fragment, None)
        case _:
            return None
    if element.disabled or (kind == "button_group" and not element.options):
        return None
    key = element.id.split("-", 2)[2]
    return Widget(key, element.id, kind, element, fragment, value)


def _option(element: Any, place: int) -> str | None:
    return element.options[place] if element.options else None

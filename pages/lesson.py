"""How do I learn this step by step?"""

from pages.kit.classroom.join import LINK
from pages.kit.controls import Controls
from pages.kit.lesson.library import library
from pages.kit.shell import guard
from pages.kit.view import open_view
from pages.lesson import overview, paper
from pages.lesson.overview import PRINT, chapter_control

guard()
lessons = library()
CHAPTER = chapter_control(lessons)
controls = Controls(CHAPTER, PRINT, LINK)
name = controls.value(CHAPTER)
chapters = [one for one in lessons.chapters if name in ("", one.name)]
if controls.value(PRINT):
    controls.toolbar()
    paper.show(controls, CHAPTER, chapters)
else:
    open_view("How do I learn this step by step?")
    controls.toolbar()
    overview.show(controls, CHAPTER, lessons)

"""The page in a real browser: it filters, sorts, unfolds and prints, complains of nothing, loads nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from scripts import chromium
from tests.command import LONGEST_S
from tests.scripts.report_traces import HOSTILE, page, record, record_all

# Cells of the table that end to the right of the window, or of what it shows of the table.
BEYOND = """
  const table = document.querySelector(".wide");
  const end = Math.min(arguments[0], table ? table.getBoundingClientRect().right : Infinity);
  return [...document.querySelectorAll("#runs td, #runs th")]
    .filter((cell) => cell.getBoundingClientRect().right > end + 1).map((cell) => cell.textContent);
"""
SCREENSHOT_BYTES = 5_000  # an empty page of this size takes less


class Window:
    """A browser with the report on many runs, and one with the report on the hostile run."""

    def __init__(self, driver: webdriver.Chrome, many: str, one: str) -> None:
        self.driver = driver
        self.many = many
        self.one = one

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def run(self, script: str, *values: object) -> Any:
        return self.driver.execute_script(script, *values)

    def column(self, number: int) -> list[str]:
        """What the visible rows show in a column."""
        cells = self.all(f"#runs tbody td:nth-child({number})")
        return [cell.text for cell in cells if cell.is_displayed()]

    def emulate(self, media: str = "", scheme: str = "light") -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def asked_for(self) -> list[str]:
        """Every address that a page has asked for since the last time."""
        entries = self.driver.get_log("performance")
        messages = [json.loads(entry["message"])["message"] for entry in entries]
        sent = [each for each in messages if each["method"] == "Network.requestWillBeSent"]
        return [each["params"]["request"]["url"] for each in sent]


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    found = chromium.find()
    if found is None:
        pytest.skip("there is no Chromium with its driver; with CI=true scripts/test.py fails for want of it")
    folder = tmp_path_factory.mktemp("report")
    traces = record_all(folder)
    record(traces / f"{'z-long-name-' * 6}.jsonl", question="Does a long name fit?" + "-so-it-does" * 20)
    many, one = folder / "many.html", folder / "one.html"
    many.write_text(page(traces), encoding="utf-8")
    one.write_text(page(traces / "d.jsonl", language="zh"), encoding="utf-8")
    options = webdriver.ChromeOptions()
    options.binary_location = found.binary
    for switch in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,900"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(executable_path=found.driver))
    try:
        yield Window(driver, many.as_uri(), one.as_uri())
    finally:
        driver.quit()


@pytest.fixture
def many(window: Window) -> Window:
    """The report on many runs, freshly opened."""
    window.emulate()
    window.driver.get("about:blank")
    window.driver.get(window.many)
    return window


def test_the_table_is_filtered_by_words_and_by_stop_reason(many: Window) -> None:
    assert many.find("#shown").text == "9 of 9 shown"

    many.find("#filter").send_keys("weather[lima]")
    assert (many.column(3), many.find("#shown").text) == (["repeated call"], "1 of 9 shown")
    many.find("#filter").send_keys(" no such word")
    assert many.find("#nothing").is_displayed()

    many.find("#filter").clear()
    many.find("#filter").send_keys("did not finish")  # the second of the findings, which no row shows
    assert many.find("#shown").text == "1 of 9 shown"

    many.find("#filter").clear()
    many.find("#filter").send_keys("without calling a tool")
    assert many.column(3) == ["answered"]

    many.find("#filter").clear()
    many.find("#reason option[value=max_iterations]").click()
    assert set(many.column(3)) == {"out of steps"}
    assert len([each for each in many.all("details.run") if each.is_displayed()]) == len(many.column(3)) == 2


def test_a_click_sorts_and_another_turns_it_round(many: Window) -> None:
    head = many.find("#runs th:nth-child(5)")
    tokens = sorted(int(text.replace(",", "")) for text in many.column(5))

    for direction, expected in (("descending", tokens[::-1]), ("ascending", tokens)):
        head.find_element(By.TAG_NAME, "button").click()
        assert head.get_attribute("aria-sort") == direction
        assert [int(text.replace(",", "")) for text in many.column(5)] == expected


def test_the_keyboard_reaches_what_the_mouse_does(many: Window) -> None:
    many.find("#reason").send_keys(Keys.TAB, Keys.TAB)  # past the region that scrolls
    focused = many.driver.switch_to.active_element
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert (focused.tag_name, many.run(outline)) == ("button", "solid")

    focused.send_keys(Keys.TAB)
    many.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert many.find("#runs th:nth-child(2)").get_attribute("aria-sort") == "ascending"
    assert len(many.all("th[aria-sort]")) == 1


def test_a_row_leads_to_its_timeline(many: Window) -> None:
    assert not many.find("#run-2").is_displayed()

    many.find("a[href='#run-2']").send_keys(Keys.ENTER)
    assert many.find("#run-2").is_displayed()
    assert "Weather[Lima] was asked for 3 times" in many.find("#run-2 .findings").text
    assert [each.text for each in many.all("#run-2 .step.repeated .mark")] == ["repeated, not run"] * 2


def test_a_request_unfolds_with_all_of_its_messages(many: Window) -> None:
    many.run("location.hash = '#r5s6'")
    many.find("#r5s6 .exchange > summary").send_keys(Keys.ENTER)
    WebDriverWait(many.driver, LONGEST_S).until(lambda _: many.all("#r5s6 .exchange[data-complete]"))
    shown = many.all("#r5q6 > li")

    roles = [each.find_element(By.CLASS_NAME, "role").text for each in shown]
    assert roles == ["system", "human", *["ai", "human"] * 5]
    texts = [each.find_element(By.CLASS_NAME, "text").text for each in shown]
    assert texts[0].startswith("You answer questions")
    assert texts[1] == "Read it all."
    assert [text.split()[-1] for text in texts[2::2]] == [f"Read[{number}]" for number in range(5)]
    assert not many.all("#r5s6 .kept")


def test_dark_and_paper_look_as_they_should(many: Window) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    light = many.run(background)
    many.emulate(scheme="dark")
    assert many.run(background) != light

    many.emulate(media="print")
    assert not many.find(".controls").is_displayed()
    printed = many.driver.print_page()
    assert base64.b64decode(printed).startswith(b"%PDF")
    assert many.run("return [...document.querySelectorAll('.step')].every((each) => each.checkVisibility())")


def test_what_was_written_stays_text_and_nothing_is_run_or_loaded(window: Window) -> None:
    window.complaints()
    window.asked_for()  # what earlier tests left in the logs
    for address in (window.many, window.one):
        window.driver.get(address)
        window.run("for (const each of document.querySelectorAll('details')) each.open = true")

        assert HOSTILE in window.run("return document.body.innerText")
        assert not window.all("img")
        assert len(window.all("script")) == 1
    assert window.complaints() == []
    assert window.asked_for() == [window.many, window.one]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 400])
def test_it_fits_the_window(window: Window, tmp_path: Path, scheme: str, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    window.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    window.emulate(scheme=scheme)
    for address in (window.many, window.one):
        window.driver.get(address)
        assert window.run("return document.documentElement.scrollWidth") <= width
        assert window.run(BEYOND, width) == []
        assert len(window.driver.get_screenshot_as_png()) > SCREENSHOT_BYTES

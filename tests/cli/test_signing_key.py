"""Signed models in the terminal: ``compare --signing-key`` signs, ``predict`` checks."""

import pytest

from comparison import stories
from consilience import io
from consilience.cli import main

SECRET = "sixteen or more secret bytes"
COMPARE = ["compare", "wide.csv", "--views", "a=a0:a4,b=b0:b5", "--target", "outcome",
           "--methods", "Concat", "--cv", "2", "--repeats", "1", "--quiet", "--out"]  # fmt: skip


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    captured = capsys.readouterr()
    return end.value.code, captured.out + captured.err


@pytest.fixture
def folder(tmp_path, monkeypatch):
    stories.wide(tmp_path, n=40)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key").write_text(SECRET)
    (tmp_path / "other").write_text(SECRET + "!")
    (tmp_path / "short").write_text("short")
    (tmp_path / "long").write_bytes(bytes(4097))
    monkeypatch.setenv("MODEL_KEY", SECRET)
    monkeypatch.delenv("NO_KEY", raising=False)
    return tmp_path


@pytest.mark.usefixtures("serially", "undrawn")
def test_sign_and_check(capsys, folder):
    code, printed = run(capsys, *COMPARE, "signed", "--signing-key", "key")
    assert code == 0
    assert SECRET not in printed
    for path in (folder / "signed").iterdir():
        assert SECRET.encode() not in path.read_bytes(), path
    io.load(folder / "signed" / "model.skops", key=SECRET.encode())
    predict = ["predict", "signed", "wide.csv"]
    expected = run(capsys, *predict)
    assert expected[0] == 0
    assert run(capsys, *predict, "--signing-key", "key") == expected
    assert run(capsys, *predict, "--signing-key", "env:MODEL_KEY") == expected
    code, printed = run(capsys, *predict, "--signing-key", "other")
    assert code == 2
    assert "signed with another key, or modified after it was signed" in printed
    io.save(io.load(folder / "signed" / "model.skops"), folder / "signed" / "model.skops")
    code, printed = run(capsys, *predict, "--signing-key", "key")
    assert (code, printed.count("\n")) == (2, 1)
    assert "it has no signature" in printed


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", "--signing-key nowhere cannot be read: No such file or directory"),
        (".", "--signing-key . cannot be read: Is a directory"),
        ("short", "--signing-key short: key must have at least 16 bytes, got 5"),
        ("long", "--signing-key long has more than 4096 bytes"),
        ("env:NO_KEY", "--signing-key env:NO_KEY: this environment variable is not set"),
    ],
)
def test_bad_keys(capsys, folder, source, message):
    for command in ([*COMPARE, "out"], ["predict", "out", "wide.csv"]):
        code, printed = run(capsys, *command, "--signing-key", source)
        assert (code, printed.count("\n")) == (2, 1)
        assert message in printed
    assert not (folder / "out").exists()

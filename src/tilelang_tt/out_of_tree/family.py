"""A target of one's own: every spelling of it, and the options that it carries.

    "toy"   "toy/big"   "toy -lanes=8"   {"kind": "toy", "lanes": 8}   '{"kind": "toy", "lanes": 8}'
        -> Target(kind ext_dev, key toy, feature.lanes=8, feature.build=...)

TVM knows target kinds from C++ alone, so such a target is its kind for foreign devices with a key of ours. Options
travel as `feature.*` texts because they survive str, copy and pickle. One more feature names the build of the package:
`str(target)` is part of every cache key of TileLang, and a kernel compiled by another build must not be served.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm.target import Target, register_tag

from tilelang_tt.tilelang_hooks import register_target_detector, register_target_normalizer

KIND = "ext_dev"
_FEATURE = "feature."
BUILD_FEATURE = f"{_FEATURE}build"


@dataclass(frozen=True)
class Family:
    """All targets of one name."""

    name: str
    build: Callable[[], str]  # changes whenever the package's output may change
    read: Callable[[str, dict[str, Any]], Target]  # the head, `name` or `name/...`, and options as given; may refuse
    no_option: Callable[[str], Exception]  # of a word that is none

    def config(self, features: Mapping[str, str], model: str = "") -> dict[str, str | list[str]]:
        """The dict TVM makes a Target from."""
        texts = {f"{_FEATURE}{name}": text for name, text in features.items()}
        return {"kind": KIND, "keys": [self.name], "model": model, **texts, BUILD_FEATURE: self.build()}

    def owns(self, target: Target) -> bool:
        return target.kind.name == KIND and self.name in [str(key) for key in target.keys]

    def features(self, target: Target) -> dict[str, str]:
        """The options a target carries, as texts."""
        return {
            str(name).removeprefix(_FEATURE): str(value)
            for name, value in target.attrs.items()
            if str(name).startswith(_FEATURE) and str(name) != BUILD_FEATURE
        }

    def normalize(self, target: Any) -> Target | None:
        """TileLang asks every backend in turn: a Target when the spelling is ours, otherwise None."""
        if isinstance(target, Target):
            stale = self.owns(target) and str(target.attrs.get(BUILD_FEATURE, "")) != self.build()
            return self.read(self.name, dict(self.features(target))) if stale else None
        if isinstance(target, Mapping):
            kind = str(target.get("kind", ""))
            options = {str(name): value for name, value in target.items() if name != "kind"}
            return self.read(kind, options) if self._is_head(kind) else None
        text = str(target).strip()
        if text.startswith("{"):
            return self._from_json(text)
        head, *words = text.split() or [""]
        return self.read(head, self._options(words)) if self._is_head(head) else None

    def register(self, tags: Mapping[str, Mapping[str, Any]], detect: Callable[[], Target | None]) -> None:
        """Make TileLang (by normaliser) and plain `tvm.target.Target(...)` (by tag) know the names.

        `detect` is asked for target="auto" after all that was registered before: TileLang's own ask for GPUs.
        """
        register_target_normalizer(self.name, self.normalize, override=True)
        register_target_detector(self.name, detect, override=True)
        for tag, config in tags.items():
            register_tag(tag, dict(config), override=True)

    def _is_head(self, word: str) -> bool:
        """`toy`, `toy/...`, and `toy-...`, which is refused by `read`; not `toy2`, which may be somebody else's."""
        return re.split("[/-]", word, maxsplit=1)[0] == self.name

    def _from_json(self, text: str) -> Target | None:
        try:
            config = json.loads(text)
        except ValueError:
            return None
        return self.normalize(config) if isinstance(config, dict) else None

    def _options(self, words: list[str]) -> dict[str, Any]:
        options: dict[str, Any] = {}
        for word in words:
            if not word.startswith("-"):
                raise self.no_option(word)
            name, _, value = word.lstrip("-").partition("=")
            options[name.replace("-", "_")] = value
        return options

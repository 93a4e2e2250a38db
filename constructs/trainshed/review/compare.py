"""From two versions to a review."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..config import ConfigError, Institution, load
from ..picture import picture
from . import cluster, institution
from .assembly import Assembly, Stack, asset_texts, read
from .capacity import CapacitySpan, spans
from .diffs import file_diffs
from .effects import Effect, Finding
from .fact import Fact
from .figures import figures
from .guards import stops
from .handoff import handoff_findings
from .leavers import leavers
from .resource_findings import CLUSTER, resource_findings
from .resources import Comparison, ResourceChange
from .result import Review, RuleChange
from .rights import administrators
from .security import facts_of_configuration, facts_of_stacks
from .stacks import data_of, gone, stack_findings

# The institution file among the rendered ones: its diff is in the pull request already.
INSTITUTION_FILE = "institution.yaml"


@dataclass(frozen=True)
class Version:
    """One institution at one commit: its stacks, its file, or both."""

    stacks: Mapping[str, Stack] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Rendered files and shipped scripts by name."""
    violations: frozenset[tuple[str, str, str]] = frozenset()
    institution: Institution | None = None
    is_file_only: bool = False

    @property
    def is_there(self) -> bool:
        """It has anything."""
        return bool(self.stacks) or self.institution is not None

    def facts(self) -> frozenset[Fact]:
        """Return every fact of security."""
        configs = list(cluster.configurations(self.stacks).values())
        if self.is_file_only and self.institution:
            configs.append(institution.cluster_config(self.institution))
        powerful = administrators(self.stacks.values())
        found = (facts_of_configuration(config, powerful) for config in configs)
        return facts_of_stacks(self.stacks).union(*found)


def review(
    base: Path,
    head: Path,
    *,
    accepted: Collection[str] = (),
    sections: Mapping[str, str] | None = None,
) -> Review:
    """Compare two versions of one institution.

    Args:
        base: What is deployed: a synthesised assembly or an institution file.
        head: What is asked for, of the same kind.
        accepted: Acknowledgements of stops, ``RULE`` or ``RULE:PLACE``.
        sections: Markdown to show as well, by its title. Default: cost and quotas alone.

    Raises:
        ValueError: The two are of different kinds, or hold several institutions.
        ConfigError: An institution file is not right.
        MissingSchemasError: cfn-lint is not installed, and a template differs.
    """
    found = review_many(base, head, accepted=accepted)
    if len(found) != 1:
        names = ", ".join(each.name for each in found) or "none"
        raise ValueError(f"{head} holds {names}; review_many reviews each of them")
    return replace(found[0], sections={**found[0].sections, **(sections or {})})


def review_many(
    base: Path,
    head: Path,
    *,
    accepted: Collection[str] = (),
    sections: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Review]:
    """Compare two versions of all their institutions; the arguments are those of `review`.

    ``sections`` holds the Markdown of each institution under its name.
    """
    before, after = _versions(base), _versions(head)
    if base.is_file() and head.is_file() and before.keys() != after.keys():
        raise ValueError(
            f"{base} is {', '.join(before)} and {head} is {', '.join(after)}; "
            "compare two versions of the same institution"
        )
    if base.is_file() != head.is_file():
        raise ValueError(
            f"{base} and {head} are an assembly and an institution file; give two of a kind"
        )
    names = list(dict.fromkeys([*after, *before]))
    given = sections or {}
    nothing = Version()
    reviews = []
    for name in names:
        old, new = before.get(name, nothing), after.get(name, nothing)
        found = compare(name, old, new, accepted)
        own = {} if found.is_unchanged else figures(old.institution, new.institution)
        reviews.append(
            replace(
                found,
                sections={**own, **given.get(name, {})},
                picture=picture(new.institution) if new.institution else "",
            )
        )
    return reviews


def _versions(path: Path) -> dict[str, Version]:
    if path.is_file():
        found = institution.read_institution(path)
        files = institution.rendered_files(found)
        return {found.name: Version(files=files, institution=found, is_file_only=True)}
    if not (path / "manifest.json").exists():
        raise ValueError(f"{path} is no assembly and no institution file; run cdk synth first")
    assembly = read(path)
    return {name: _version(assembly, name) for name in assembly.institutions}


def _version(assembly: Assembly, name: str) -> Version:
    stacks = assembly.of(name)
    rendered = assembly.rendered(name)
    file = assembly.folder / "rendered" / name / INSTITUTION_FILE
    own = _own_file(file) if rendered.pop(INSTITUTION_FILE, None) else None
    prefixes = tuple(f"{stack}/" for stack in stacks)
    return Version(
        stacks=stacks,
        files={**rendered, **asset_texts(stacks)},
        violations=frozenset(each for each in assembly.violations if each[0].startswith(prefixes)),
        institution=own,
    )


def _own_file(file: Path) -> Institution | None:
    """Read the file beside an assembly; None where it was written for another version of us."""
    try:
        # The synthesis has checked it against ParallelCluster already.
        return load(file)
    except ConfigError:
        return None


def compare(name: str, base: Version, head: Version, accepted: Collection[str] = ()) -> Review:
    """Compare two versions of one institution."""
    if base == head:
        return Review(name, capacity=_spans(head), capacity_before=_spans(base))
    is_gone = base.is_there and not head.is_there
    comparison = Comparison(base.stacks, head.stacks)
    changes = tuple(comparison.changes())
    findings = (
        [gone(name, data_of(base.stacks.values()))]
        if is_gone
        else _merged(_findings(base, head, comparison, changes))
    )
    before, after = base.facts(), (base if is_gone else head).facts()
    gained, lost = _sorted(after - before), _sorted(before - after)
    return Review(
        name=name,
        findings=tuple(sorted(findings, key=lambda finding: (-finding.effect.rank, finding.place))),
        gained=gained,
        lost=lost,
        files=() if is_gone else tuple(file_diffs(base.files, head.files)),
        resources=changes,
        rules=() if is_gone else tuple(_rules(base, head)),
        capacity=_spans(head),
        capacity_before=_spans(base),
        stops=tuple(stops(findings, gained, accepted)),
        left_out=tuple(_left_out(base, head)),
        is_new=head.is_there and not base.is_there,
        is_gone=is_gone,
    )


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    """Make one of the findings that say the same of the same place."""
    groups: dict[tuple[str, Effect, str], list[Finding]] = {}
    for each in findings:
        groups.setdefault((each.place, each.effect, each.sentence), []).append(each)
    return [
        replace(
            group[0],
            before=", ".join(each.before for each in group if each.before),
            after=", ".join(each.after for each in group if each.after),
        )
        for group in groups.values()
    ]


def _spans(version: Version) -> tuple[CapacitySpan, ...]:
    return spans(version.institution) if version.institution else ()


def _findings(
    base: Version, head: Version, comparison: Comparison, changes: Sequence[ResourceChange]
) -> Iterator[Finding]:
    yield from resource_findings(changes)
    for change in changes:
        if change.resource_type == CLUSTER and change.before and change.after:
            sides = (cluster.properties_of(change.before), cluster.properties_of(change.after))
            yield from cluster.property_findings(*sides, change.place)
    for _, before, after in cluster.clusters(comparison):
        yield from cluster.cluster_findings(before, after)
    yield from cluster.moved_findings(changes)
    yield from stack_findings(base.stacks, head.stacks)
    yield from handoff_findings(comparison.moved, head.stacks)
    if base.institution and head.institution:
        yield from _file_findings(base.institution, head.institution, head.is_file_only)


def _file_findings(base: Institution, head: Institution, is_file_only: bool) -> Iterator[Finding]:
    if base == head:
        return
    left = list(institution.data_left_behind(base, head)) if is_file_only else []
    yield from left
    backends = {base.fleet.backend, head.fleet.backend}
    if len(backends) > 1:
        # One configuration is not a change of the other.
        changes = institution.key_changes(base, head)
        yield from institution.key_findings([c for c in changes if c.place == "fleet.backend"])
        return
    left_behind = {found.place: found for found in leavers(base, head)}
    yield from left_behind.values()
    unseen = [
        change
        for change in institution.unseen_changes(base, head)
        if change.after is not None or change.place not in {*left_behind} - {"fleet.policy"}
    ]
    if is_file_only:
        unseen = [each for each in unseen if each.place not in {found.place for found in left}]
        configs = (institution.cluster_config(each) for each in (base, head))
        yield from cluster.cluster_findings(*configs)
    else:
        # What else the file says shows in the templates, which know better.
        unseen = [change for change in unseen if change.path[0] == "fleet"]
    yield from institution.key_findings(unseen, is_bare=backends == {"slurm"})


def _sorted(facts: Collection[Fact]) -> tuple[Fact, ...]:
    return tuple(
        sorted(facts, key=lambda fact: (not fact.is_alarming, fact.kind, fact.place, fact.words))
    )


def _rules(base: Version, head: Version) -> Iterator[RuleChange]:
    before, after = _acknowledged(base), _acknowledged(head)
    for is_acknowledged, old, new in (
        (False, base.violations, head.violations),
        (True, before, after),
    ):
        for is_new, mine in ((True, new - old), (False, old - new)):
            for place, rule, words in sorted(mine):
                yield RuleChange(is_new, is_acknowledged, place, rule, words)


def _acknowledged(version: Version) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (f"{name}/{path}", rule, reason)
        for name, stack in version.stacks.items()
        for (path, rule), reason in stack.acknowledged.items()
    )


def _left_out(base: Version, head: Version) -> Iterator[str]:
    if head.is_file_only:
        yield (
            "Two institution files were compared: resources, rights and cdk-nag are in the "
            "templates, so review two synthesised assemblies for those."
        )
    elif head.institution and base.is_there and base.institution is None:
        yield (
            "The institution file of the base is not one that this version reads, so it was not "
            "compared."
        )
    elif head.is_there and head.institution is None and base.stacks != head.stacks:
        yield "No institution file lies beside the templates, so there is no timeline."

"""What the template promises, checked without an account.

Run by `cargo xtask infra lint`, or: python -m unittest discover -s infra/checks
"""

import itertools
import json
import pathlib
import re
import unittest

from template import INFRA, Resolved, load

TEMPLATE = load()

LEAST = {"StateBucket": "flink-state"}
EVERYTHING = {
    "StateBucket": "flink-state",
    "CheckpointPrefix": "_entropy_/checkpoints/",
    "CheckpointKeys": "*checkpoints/*",
    "CheckpointEntropy": "_entropy_",
    "SavepointPrefix": "savepoints/",
    "HaPrefix": "ha/",
    "MoreRoots": ',{"uri":"s3://other/cp/","kind":"checkpoints"},{"uri":"s3://other/out/","kind":"sink"}',
    "MoreBucketArns": "arn:aws:s3:::other",
    "MoreObjectArns": "arn:aws:s3:::other/cp/*,arn:aws:s3:::other/out/*",
    "Mode": "restore",
    "ProtectSince": "2026-11-29T00:00:00Z",
    "ControlBucket": "ops",
    "ControlPrefix": "watch/",
    "Protect": "all",
    "Strategy": "unhide",
    "CopyStorageClass": "STANDARD_IA",
    "DormantAfter": "30d",
    "SettleSeconds": 120,
    "CatalogueMaxAge": "10m",
    "MaxMetadataBytes": "64MiB",
    "FlinkRoleIds": "AROAFLINKONE,AROAFLINKTWO",
    "OtherStayputRoleIds": "AROAOTHER",
    "ObjectsPerDay": 7,
    "BytesPerDay": "5GB",
    "CopiesPerSecond": 9,
    "AlarmEmail": "on-call@example.org",
    "FindingsTopic": "arn:aws:sns:eu-west-1:111122223333:findings",
    "KmsKeyArns": "arn:aws:kms:eu-west-1:111122223333:key/one,arn:aws:kms:eu-west-1:111122223333:key/two",
}

# What a reference to the parked queue gives.
PARKED = "https://sqs.eu-west-1.amazonaws.com/111122223333/stayput-ParkedQueue"

# Sets of parameters that switch every condition both ways.
SWITCHES = {
    "Mode": ["observe", "restore"],
    "Strategy": ["copy", "unhide"],
    "ControlBucket": ["", "ops"],
    "SavepointPrefix": ["", "savepoints/"],
    "HaPrefix": ["", "ha/"],
    "CheckpointKeys": ["", "*checkpoints/*"],
    "KmsKeyArns": ["", EVERYTHING["KmsKeyArns"]],
    "FindingsTopic": ["", EVERYTHING["FindingsTopic"]],
    "MoreBucketArns": ["", EVERYTHING["MoreBucketArns"]],
    "MoreObjectArns": ["", EVERYTHING["MoreObjectArns"]],
    "EventPath": ["s3", "eventbridge"],
    "NewCheckpoints": ["no", "yes"],
}


def switched():
    for values in itertools.product(*SWITCHES.values()):
        yield Resolved(TEMPLATE, StateBucket="flink-state", **dict(zip(SWITCHES, values)))


def document(name, resolved):
    """A document of infra/policies with these parameters. What names a root that there isn't falls away."""
    unused = [name for name in ("SavepointPrefix", "HaPrefix") if not resolved.parameters[name]]
    lists = ("MoreBucketArns", "MoreObjectArns", "KmsKeyArns")
    keys = resolved.parameters["CheckpointKeys"] or resolved.parameters["CheckpointPrefix"] + "*"

    def put_in(value):
        if isinstance(value, dict):
            return {name: put_in(inner) for name, inner in value.items()}
        if isinstance(value, list):
            found = []
            for item in value:
                if isinstance(item, str) and any("${" + name + "}" in item for name in unused):
                    continue
                whole = re.fullmatch(r"\$\{(\w+)\}", item) if isinstance(item, str) else None
                if whole and whole[1] in lists:
                    found.extend(resolved.parameters[whole[1]].split(","))
                else:
                    found.append(put_in(item))
            return found
        if isinstance(value, str):
            return resolved.value({"Fn::Sub": [value, {"CheckpointKeys": keys}]})
        return value

    return put_in(json.loads((INFRA / "policies" / f"{name}.json").read_text(encoding="utf-8")))


def documents_of(resolved):
    """Which documents these parameters ask for."""
    p = resolved.parameters
    yield "run"
    yield "park"
    yield "read"
    if p["MoreBucketArns"]:
        yield "more-buckets"
    if p["MoreObjectArns"]:
        yield "more-objects"
    if p["ControlBucket"]:
        yield "control"
    if p["FindingsTopic"]:
        yield "tell"
    if p["Mode"] == "restore":
        yield "copy"
        if p["Strategy"] == "unhide":
            yield "unhide"
        if p["MoreObjectArns"]:
            yield "copy-more"
    if p["KmsKeyArns"]:
        yield "kms-read"
        if p["Mode"] == "restore" or p["ControlBucket"]:
            yield "kms-write"


def policies_of(resolved):
    """Every policy of the function's role, by its name."""
    found = {}
    (role,) = resolved.resources("AWS::IAM::Role").values()
    for policy in role["Policies"]:
        found[policy["PolicyName"]] = policy["PolicyDocument"]
    for policy in resolved.resources("AWS::IAM::Policy").values():
        assert policy["Roles"] == ["<Role>"], policy
        found[policy["PolicyName"]] = policy["PolicyDocument"]
    return found


class Permissions(unittest.TestCase):
    def test_the_role_has_the_documents_of_its_mode_and_nothing_else(self):
        seen = 0
        for resolved in switched():
            policies = policies_of(resolved)
            self.assertEqual(sorted(policies), sorted(documents_of(resolved)), resolved.parameters)
            for name, policy in policies.items():
                self.assertEqual(policy, document(name, resolved), (name, resolved.parameters))
            seen += 1
        self.assertEqual(seen, 2 ** len(SWITCHES))

    def test_no_role_may_delete_unless_it_unhides_or_do_anything_with_everything(self):
        statements = 0
        for resolved in switched():
            for name, policy in policies_of(resolved).items():
                if name == "unhide":
                    self.assertEqual((resolved.parameters["Mode"], resolved.parameters["Strategy"]), ("restore", "unhide"))
                    continue
                for statement in policy["Statement"]:
                    statements += 1
                    self.assertEqual(statement["Effect"], "Allow")
                    for action in statement["Action"]:
                        self.assertNotIn("*", action)
                        self.assertNotIn("Delete", action.replace("sqs:DeleteMessage", ""))
                        self.assertNotIn("Put", action.replace("logs:Put", "").replace("s3:PutObject", ""))
                    for resource in statement["Resource"]:
                        self.assertNotEqual(resource, "*")
        self.assertGreater(statements, 1000)

    def test_who_unhides_may_remove_versions_below_the_roots_and_hide_nothing(self):
        resolved = Resolved(TEMPLATE, **EVERYTHING)
        allow, elsewhere, hide = document("unhide", resolved)["Statement"]
        self.assertEqual((allow["Effect"], allow["Action"]), ("Allow", ["s3:DeleteObjectVersion"]))
        self.assertEqual((elsewhere["Effect"], elsewhere["Action"]), ("Deny", ["s3:DeleteObjectVersion"]))
        self.assertEqual(allow["Resource"], elsewhere["NotResource"])
        self.assertEqual(allow["Resource"], document("copy", resolved)["Statement"][0]["Resource"])
        self.assertEqual((hide["Effect"], hide["Action"], hide["Resource"]), ("Deny", ["s3:DeleteObject"], ["*"]))

    def test_observing_may_write_only_where_it_remembers(self):
        for resolved in switched():
            if resolved.parameters["Mode"] != "observe":
                continue
            for policy in policies_of(resolved).values():
                for statement in policy["Statement"]:
                    if "s3:PutObject" in statement["Action"]:
                        self.assertEqual(statement["Resource"], ["arn:aws:s3:::ops/stayput/*"])

    def test_restoring_may_write_only_below_the_roots(self):
        resolved = Resolved(TEMPLATE, **{**LEAST, "Mode": "restore"})
        self.assertEqual(
            document("copy", resolved)["Statement"][0]["Resource"], ["arn:aws:s3:::flink-state/checkpoints/*"]
        )
        resolved = Resolved(TEMPLATE, **EVERYTHING)
        self.assertEqual(
            document("copy", resolved)["Statement"][0]["Resource"],
            [f"arn:aws:s3:::flink-state/{keys}" for keys in ("*checkpoints/*", "savepoints/*", "ha/*")],
        )

    def test_only_this_bucket_or_these_rules_may_send(self):
        for resolved in switched():
            policies = resolved.resources("AWS::SQS::QueuePolicy")
            allowed = [
                statement
                for policy in policies.values()
                for statement in policy["PolicyDocument"]["Statement"]
                if statement["Effect"] == "Allow"
            ]
            self.assertGreaterEqual(len(allowed), 1)
            for statement in allowed:
                self.assertEqual(statement["Action"], "sqs:SendMessage")
                sources = statement["Condition"]["ArnEquals"]["aws:SourceArn"]
                if resolved.parameters["EventPath"] == "s3":
                    self.assertEqual(statement["Principal"], {"Service": "s3.amazonaws.com"})
                    self.assertEqual(statement["Condition"]["StringEquals"], {"aws:SourceAccount": "111122223333"})
                    self.assertIn(sources, ("arn:aws:s3:::flink-state", ["arn:aws:s3:::other"]))
                else:
                    rules = resolved.resources("AWS::Events::Rule")
                    self.assertEqual(sorted(sources), sorted(f"<{name}.Arn>" for name in rules))
                    self.assertEqual(len(rules), 4 if resolved.parameters["NewCheckpoints"] == "yes" else 3)


class Settings(unittest.TestCase):
    """crates/stayput-guard/tests/template_settings.rs reads the same file with the code that the function starts with."""

    KEPT = INFRA / "checks" / "settings.json"

    def settings(self, parameters):
        text = Resolved(TEMPLATE, **parameters).value(
            TEMPLATE["Globals"]["Function"]["Environment"]["Variables"]["STAYPUT_CONFIG"]
        )
        return json.loads(text.replace("<Role.RoleId>", "AROAOURS").replace("<ParkedQueue>", PARKED))

    def test_the_settings_that_the_function_is_given_are_those_that_it_was_tested_with(self):
        made = {"least": self.settings(LEAST), "everything": self.settings(EVERYTHING)}
        kept = json.loads(self.KEPT.read_text(encoding="utf-8"))
        self.assertEqual(made, kept, "if the template is right, put into infra/checks/settings.json: " + json.dumps(made, indent=2))

    def test_every_parameter_is_used(self):
        text = (INFRA / "template.yaml").read_text(encoding="utf-8")
        body = text.split("\nConditions:", 1)[1]
        for name in TEMPLATE["Parameters"]:
            self.assertRegex(body, rf"!Ref {name}\b|\$\{{{name}\}}")


class Documented(unittest.TestCase):
    def test_every_parameter_is_in_the_readme_with_its_default(self):
        text = (INFRA / "README.md").read_text(encoding="utf-8").split("## Parameters")[1].split("\n## ")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.M))
        self.assertEqual(sorted(rows), sorted(TEMPLATE["Parameters"]))
        for name, about in TEMPLATE["Parameters"].items():
            if "Default" not in about:
                wanted = "required"
            elif about["Default"] == "":
                wanted = "none"
            else:
                wanted = f"`{about['Default']}`"
            self.assertEqual(rows[name], wanted, name)

    def test_every_alarm_is_in_the_readme(self):
        text = (INFRA / "README.md").read_text(encoding="utf-8").split("## Alarms")[1].split("\n## ")[0]
        alarms = [name for name, r in TEMPLATE["Resources"].items() if r["Type"] == "AWS::CloudWatch::Alarm"]
        self.assertEqual(sorted(re.findall(r"`(\w+Alarm)`", text)), sorted(alarms))

    def test_every_suppressed_rule_has_its_reason(self):
        reasons = 0
        for resource in TEMPLATE["Resources"].values():
            for skipped in resource.get("Metadata", {}).get("checkov", {}).get("skip", []):
                self.assertGreater(len(skipped["comment"].split()), 6, skipped)
                reasons += 1
        self.assertGreaterEqual(reasons, 10)

    def test_every_parameter_is_in_a_group(self):
        groups = TEMPLATE["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
        self.assertEqual(sorted(n for g in groups for n in g["Parameters"]), sorted(TEMPLATE["Parameters"]))


# Metrics that AWS makes by itself: the developer guides of SQS and Lambda.
METRICS_OF_AWS = {
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"),
    ("AWS/SQS", "NumberOfMessagesSent"),
    ("AWS/Lambda", "Errors"),
    ("AWS/Lambda", "Duration"),
    ("AWS/Lambda", "RecursiveInvocationsDropped"),
}
OWN = "Stayput/stayput"
# Lines that the function's own code wrote: lambda/src/call/log_lines.rs holds it to them.
LINES = [json.loads(line) for line in (INFRA / "checks" / "log.jsonl").read_text(encoding="utf-8").splitlines()]


def written_metrics():
    """What CloudWatch takes out of the lines: for each metric the sets of dimensions that it is written with."""
    found = {}
    for line in LINES:
        for directive in line.get("_aws", {}).get("CloudWatchMetrics", []):
            for metric in directive["Metrics"]:
                assert metric["Name"] in line, metric
                found.setdefault(metric["Name"], set()).update(tuple(names) for names in directive["Dimensions"])
    return found


def searched(expression):
    """Namespace, dimensions, metric and statistic of a SEARCH in a dashboard."""
    found = re.fullmatch(r"""SEARCH\('\{"([^"]+)",([\w,]+)\} MetricName="(\w+)"', '(\w+)', \d+\)""", expression)
    assert found, f"{expression} isn't understood"
    return found[1], tuple(found[2].split(",")), found[3], found[4]


class Telling(unittest.TestCase):
    def setUp(self):
        self.resolved = Resolved(TEMPLATE, **EVERYTHING)
        self.metrics = written_metrics()

    def test_the_function_writes_metrics_and_findings(self):
        self.assertGreaterEqual(len(self.metrics), 35)
        self.assertGreaterEqual(sum("finding" in line for line in LINES), 35)
        per_job = {name for name, dimensions in self.metrics.items() if ("Job",) in dimensions}
        self.assertEqual(per_job, {"OldestNeededAge", "HoursUntilLoss", "HoursSinceCheckpoint"})
        # Alarms can't search: each of them is there without its job too.
        self.assertTrue(all(() in dimensions for dimensions in self.metrics.values()), self.metrics)

    def test_the_function_writes_where_the_alarms_look(self):
        variables = TEMPLATE["Globals"]["Function"]["Environment"]["Variables"]
        self.assertEqual(self.resolved.value(variables["STAYPUT_METRICS_NAMESPACE"]), OWN)
        self.assertEqual(self.resolved.resources("AWS::Logs::MetricFilter"), {}, "the log says its metrics itself")

    def test_alarms_rest_on_metrics_that_exist(self):
        alarms = self.resolved.resources("AWS::CloudWatch::Alarm")
        self.assertGreaterEqual(len(alarms), 19)
        own = 0
        for name, alarm in alarms.items():
            metric = (alarm["Namespace"], alarm["MetricName"])
            if metric[0] == OWN:
                own += 1
                self.assertIn((), self.metrics.get(metric[1], set()), name)
                self.assertNotIn("Dimensions", alarm, name)
            else:
                self.assertIn(metric, METRICS_OF_AWS, name)
                self.assertIn(alarm["Dimensions"][0]["Value"].strip("<>").split(".")[0], TEMPLATE["Resources"], name)
            self.assertEqual(alarm["AlarmActions"], ["<Alarms>"])
            # A week is CloudWatch's bound.
            self.assertLessEqual(alarm["Period"] * alarm["EvaluationPeriods"], 7 * 86400)
            self.assertTrue(alarm["AlarmDescription"].endswith((".", ")")), name)
        self.assertGreaterEqual(own, 10)

    def test_a_job_without_a_new_checkpoint_rings_after_the_hours_of_the_parameter(self):
        alarm = Resolved(TEMPLATE, **LEAST, NoCheckpointHours=36).resources("AWS::CloudWatch::Alarm")["NoCheckpointAlarm"]
        self.assertEqual((alarm["MetricName"], alarm["Statistic"]), ("HoursSinceCheckpoint", "Maximum"))
        self.assertEqual((alarm["Threshold"], alarm["ComparisonOperator"]), ("36", "GreaterThanThreshold"))
        # The sweep measures it once a day.
        self.assertGreaterEqual(alarm["Period"] * alarm["EvaluationPeriods"], 86400)

    def test_the_dashboard_shows_metrics_that_exist(self):
        (dashboard,) = self.resolved.resources("AWS::CloudWatch::Dashboard").values()
        widgets = json.loads(dashboard["DashboardBody"])["widgets"]
        shown = [row for w in widgets if w["type"] == "metric" for row in w["properties"]["metrics"]]
        self.assertGreaterEqual(len(shown), 40)
        seen = set()
        for row in shown:
            if isinstance(row[0], dict):
                namespace, dimensions, name, statistic = searched(row[0]["expression"])
                self.assertEqual(namespace, OWN)
                self.assertIn(dimensions, self.metrics.get(name, set()), row)
                self.assertIn(statistic, ("Maximum", "Minimum"))
                seen.add(name)
            elif row[0] == OWN:
                self.assertIn((), self.metrics.get(row[1], set()), row)
                seen.add(row[1])
            else:
                self.assertIn((row[0], row[1]), METRICS_OF_AWS)
        self.assertEqual(sorted(set(self.metrics) - seen), ["Sweeps"], "what is measured is shown, but for what only an alarm needs")

    def test_the_dashboard_asks_the_log_for_what_its_lines_have(self):
        (dashboard,) = self.resolved.resources("AWS::CloudWatch::Dashboard").values()
        widgets = json.loads(dashboard["DashboardBody"])["widgets"]
        queries = [w["properties"]["query"] for w in widgets if w["type"] == "log"]
        self.assertEqual(len(queries), 2)
        fields = {field for query in queries for field in re.findall(r"\b(?:finding|verdict)\.\w+", query)}
        self.assertGreaterEqual(len(fields), 12)
        for field in fields:
            document, member = field.split(".")
            self.assertTrue(any(member in line[document] for line in LINES if document in line), field)

    def test_widgets_do_not_overlap(self):
        (dashboard,) = self.resolved.resources("AWS::CloudWatch::Dashboard").values()
        taken = {}
        for widget in json.loads(dashboard["DashboardBody"])["widgets"]:
            title = widget["properties"].get("title", "text")
            self.assertLessEqual(widget["x"] + widget["width"], 24)
            for place in itertools.product(
                range(widget["x"], widget["x"] + widget["width"]), range(widget["y"], widget["y"] + widget["height"])
            ):
                self.assertNotIn(place, taken, f"{title} lies over {taken.get(place)}")
                taken[place] = title

    def test_a_message_that_waits_outlasts_the_last_look(self):
        judge = TEMPLATE["Resources"]["Judge"]["Properties"]
        queues = self.resolved.resources("AWS::SQS::Queue")
        fed = {name: queue for name, queue in queues.items() if "RedrivePolicy" in queue}
        self.assertEqual(sorted(fed), ["LifecycleQueue", "ParkedQueue", "RemovalsQueue"])
        for name, queue in fed.items():
            # AWS's advice for queues that feed functions.
            self.assertGreaterEqual(queue["VisibilityTimeout"], 6 * judge["Timeout"])
            # The last look at a checkpoint that Flink may be discarding comes an hour after the deletion.
            self.assertGreaterEqual(queue["VisibilityTimeout"] * queue["RedrivePolicy"]["maxReceiveCount"], 70 * 60)
            if name != "ParkedQueue":
                self.assertLess(queue["MessageRetentionPeriod"], queues["DeadLetters"]["MessageRetentionPeriod"])

    def test_what_is_parked_comes_back_to_the_function_and_is_kept_as_long_as_sqs_can(self):
        queue = self.resolved.resources("AWS::SQS::Queue")["ParkedQueue"]
        self.assertEqual(queue["MessageRetentionPeriod"], 14 * 86400)
        self.assertEqual(queue["RedrivePolicy"]["deadLetterTargetArn"], "<DeadLetters.Arn>")
        # Each message says how long it is kept back.
        self.assertNotIn("DelaySeconds", queue)
        judge = TEMPLATE["Resources"]["Judge"]["Properties"]
        fed = {name: self.resolved.value(event["Properties"]) for name, event in judge["Events"].items()}
        self.assertEqual(
            {name: event["Queue"] for name, event in fed.items()},
            {"Lifecycle": "<LifecycleQueue.Arn>", "Removals": "<RemovalsQueue.Arn>", "Parked": "<ParkedQueue.Arn>"},
        )
        for event in fed.values():
            self.assertEqual(event["FunctionResponseTypes"], ["ReportBatchItemFailures"])
        # No call that one queue may make is refused because of the others.
        at_once = sum(event["ScalingConfig"]["MaximumConcurrency"] for event in fed.values())
        pattern = TEMPLATE["Parameters"]["ReservedConcurrency"]["AllowedPattern"]
        kept = [n for n in range(1, 1000) if re.search(pattern, str(n))]
        self.assertEqual((min(kept), kept[-1]), (at_once, 999))

    def test_what_the_bucket_is_to_send_is_in_the_outputs(self):
        of_deletions = [
            ("stayput-lifecycle", "<LifecycleQueue.Arn>", ["s3:LifecycleExpiration:*", "s3:ObjectRestore:Completed"], None),
            ("stayput-removals", "<RemovalsQueue.Arn>", ["s3:ObjectRemoved:*"], None),
        ]
        ends = {"Key": {"FilterRules": [{"Name": "suffix", "Value": "_metadata"}]}}
        of_checkpoints = ("stayput-checkpoints", "<RemovalsQueue.Arn>", ["s3:ObjectCreated:*"], ends)
        for new_checkpoints, wanted in [("no", of_deletions), ("yes", [*of_deletions, of_checkpoints])]:
            resolved = Resolved(TEMPLATE, StateBucket="flink-state", NewCheckpoints=new_checkpoints)
            text = resolved.value(TEMPLATE["Outputs"]["Notifications"]["Value"])
            configurations = json.loads(text)["QueueConfigurations"]
            self.assertEqual([(c["Id"], c["QueueArn"], c["Events"], c.get("Filter")) for c in configurations], wanted)


if __name__ == "__main__":
    unittest.main()

"""Reads a template of CloudFormation and resolves it for given parameters, as far as ours goes."""

import pathlib
import re

import yaml

INFRA = pathlib.Path(__file__).resolve().parent.parent

PSEUDO = {
    "AWS::Partition": "aws",
    "AWS::Region": "eu-west-1",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::AccountId": "111122223333",
    "AWS::StackName": "stayput",
}

NOTHING = object()


class Loader(yaml.SafeLoader):
    """Knows the short forms: `!Ref x` is {"Ref": x}, `!Sub x` is {"Fn::Sub": x}."""


def _short_form(loader, suffix, node):
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        if suffix == "GetAtt":
            value = value.split(".", 1)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in ("Ref", "Condition") else "Fn::" + suffix: value}


Loader.add_multi_constructor("!", _short_form)


def load(path=INFRA / "template.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.load(file, Loader)


class Resolved:
    """A template with its parameters set."""

    def __init__(self, template, **parameters):
        self.template = template
        self.parameters = {}
        for name, about in template["Parameters"].items():
            if name in parameters:
                value = parameters.pop(name)
            elif "Default" in about:
                value = about["Default"]
            else:
                raise KeyError(f"{name} has no default and must be given")
            pattern = about.get("AllowedPattern")
            if pattern and not re.search(pattern, str(value)):
                raise ValueError(f"{name}: {value!r} doesn't match {pattern}")
            if "AllowedValues" in about and value not in about["AllowedValues"]:
                raise ValueError(f"{name}: {value!r} isn't one of {about['AllowedValues']}")
            self.parameters[name] = str(value)
        if parameters:
            raise KeyError(f"no such parameters: {sorted(parameters)}")

    def condition(self, name):
        return self._test(self.template["Conditions"][name])

    def _test(self, test):
        ((function, arguments),) = test.items()
        if function == "Condition":
            return self.condition(arguments)
        if function == "Fn::Equals":
            left, right = (self.value(a) for a in arguments)
            return str(left) == str(right)
        if function == "Fn::Not":
            return not self._test(arguments[0])
        if function == "Fn::And":
            return all(self._test(a) for a in arguments)
        if function == "Fn::Or":
            return any(self._test(a) for a in arguments)
        raise ValueError(f"{function} isn't understood in a condition")

    def _named(self, name):
        if name in self.parameters:
            return self.parameters[name]
        if name in PSEUDO:
            return PSEUDO[name]
        if name.split(".")[0] in self.template["Resources"]:
            return f"<{name}>"
        raise KeyError(f"nothing is called {name}")

    def _sub(self, arguments):
        text, own = (arguments, {}) if isinstance(arguments, str) else arguments
        own = {name: self.value(value) for name, value in own.items()}
        return re.sub(r"\$\{([^!}][^}]*)\}", lambda m: str(own[m[1]] if m[1] in own else self._named(m[1])), text)

    def value(self, node):
        """The node with all functions resolved; resources are named in angle brackets."""
        if isinstance(node, list):
            return [v for v in (self.value(item) for item in node) if v is not NOTHING]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            ((function, arguments),) = node.items()
            if function == "Ref":
                return NOTHING if arguments == "AWS::NoValue" else self._named(arguments)
            if function == "Fn::GetAtt":
                return self._named(".".join(arguments))
            if function == "Fn::Sub":
                return self._sub(arguments)
            if function == "Fn::Join":
                return arguments[0].join(str(item) for item in self.value(arguments[1]))
            if function == "Fn::Split":
                return self.value(arguments[1]).split(arguments[0])
            if function == "Fn::If":
                return self.value(arguments[1] if self.condition(arguments[0]) else arguments[2])
            if function.startswith("Fn::"):
                raise ValueError(f"{function} isn't understood")
        values = {name: self.value(value) for name, value in node.items()}
        return {name: value for name, value in values.items() if value is not NOTHING}

    def resources(self, kind):
        """The properties of all resources of a type that are made with these parameters, by name."""
        return {
            name: self.value(resource.get("Properties", {}))
            for name, resource in self.template["Resources"].items()
            if resource["Type"] == kind and ("Condition" not in resource or self.condition(resource["Condition"]))
        }

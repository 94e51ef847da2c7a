//! Bytes as a tree: operator, subtask, role, file. For a treemap that asks for children when somebody looks into them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Document;
use crate::handles::{NONE, Names, role_code};
use crate::shown::Shown;

/// So many children of one node are listed, those with most bytes; the rest is summed.
const LISTED: usize = 200;

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// The whole snapshot.
    Snapshot,
    /// An operator.
    Operator,
    /// A subtask of it; or its coordinator.
    Subtask,
    /// What state is for.
    Role,
    /// A handle.
    Handle,
}

/// A node with the bytes of all that is in it.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// What it stands for.
    pub kind: NodeKind,
    /// By which its children are asked for: `3/17/managed_keyed.shared`.
    pub key: String,
    /// What to call it, escaped.
    pub name: String,
    /// Bytes in objects and in `_metadata` itself. An object counts once for each operator and kind of state, so that the sum over operators is
    /// that of the summary's.
    pub bytes: u64,
    /// Handles in it, inlined ones too.
    pub handles: u64,
    /// For a handle that names something: its row.
    pub row: Option<u32>,
    /// Children, most bytes first; empty if they weren't asked for.
    pub children: Vec<Node>,
    /// How many children there are.
    pub child_count: u64,
    /// The bytes of those that aren't listed, if children were asked for.
    pub others_bytes: u64,
}

/// One handle: a row, or inlined state.
#[derive(Clone, Copy)]
struct Leaf {
    row: Option<u32>,
    at: u32,
    operator: u32,
    subtask: u32,
    role: flink_checkpoint::Role,
    bytes: u64,
}

/// Which part of the tree is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Under {
    operator: Option<u32>,
    subtask: Option<u32>,
    role: Option<String>,
}

impl Under {
    /// `operator/subtask/role`; the subtask of a coordinator is `-`. `None`: it makes no sense.
    fn parse(key: &str) -> Option<Self> {
        let mut under = Self::default();
        let mut parts = key.split('/').filter(|part| !part.is_empty());
        if let Some(operator) = parts.next() {
            under.operator = Some(operator.parse().ok()?);
        }
        if let Some(subtask) = parts.next() {
            under.subtask = Some(if subtask == "-" {
                NONE
            } else {
                subtask.parse().ok()?
            });
        }
        under.role = parts.next().map(str::to_owned);
        parts.next().is_none().then_some(under)
    }

    fn has(&self, leaf: &Leaf) -> bool {
        self.operator.is_none_or(|wanted| leaf.operator == wanted)
            && self.subtask.is_none_or(|wanted| leaf.subtask == wanted)
            && self
                .role
                .as_ref()
                .is_none_or(|wanted| leaf.role.to_string() == *wanted)
    }

    fn kind(&self) -> NodeKind {
        match self {
            Self { operator: None, .. } => NodeKind::Snapshot,
            Self { subtask: None, .. } => NodeKind::Operator,
            Self { role: None, .. } => NodeKind::Subtask,
            Self { .. } => NodeKind::Role,
        }
    }
}

impl Document {
    /// The node `under` (empty: the whole snapshot) with so many levels below it, at most 4. `None`: there is no such node.
    pub fn tree(&self, depth: u8, under: &str) -> Option<Node> {
        let wanted = Under::parse(under)?;
        let leaves: Vec<Leaf> = self.leaves().filter(|leaf| wanted.has(leaf)).collect();
        if leaves.is_empty() && wanted.operator.is_some() && wanted.subtask.is_some() {
            return None;
        }
        if wanted
            .operator
            .is_some_and(|operator| operator as usize >= self.summary.operators.len())
        {
            return None;
        }
        Some(self.node(wanted.kind(), under.to_owned(), &leaves, depth.min(4)))
    }

    fn leaves(&self) -> impl Iterator<Item = Leaf> {
        let rows = (0..).zip(self.handles.all()).map(|(number, row)| Leaf {
            row: Some(number),
            at: u32::try_from(row.span().start).unwrap_or(NONE),
            operator: row.operator,
            subtask: row.subtask,
            role: row.role(),
            bytes: if row.counts() {
                row.state_bytes(&self.bytes).unwrap_or(0)
            } else {
                0
            },
        });
        let inlined = self.handles.inlined().iter().map(|inline| Leaf {
            row: None,
            at: inline.at,
            operator: inline.operator,
            subtask: inline.subtask,
            role: inline.role(),
            bytes: inline.bytes,
        });
        rows.chain(inlined)
    }

    fn node(&self, kind: NodeKind, key: String, leaves: &[Leaf], depth: u8) -> Node {
        let bytes = leaves
            .iter()
            .fold(0u64, |sum, leaf| sum.saturating_add(leaf.bytes));
        let name = match leaves.first() {
            None => String::new(),
            Some(leaf) => self.node_name(kind, leaf),
        };
        let mut node = Node {
            kind,
            name,
            bytes,
            handles: leaves.len() as u64,
            row: None,
            children: Vec::new(),
            child_count: 0,
            others_bytes: 0,
            key,
        };
        if kind == NodeKind::Handle {
            return node;
        }
        if kind == NodeKind::Role {
            self.handles_of_role(&mut node, leaves, depth);
            return node;
        }
        let mut groups: BTreeMap<u32, Vec<Leaf>> = BTreeMap::new();
        for leaf in leaves {
            let part = match kind {
                NodeKind::Snapshot => leaf.operator,
                NodeKind::Operator => leaf.subtask,
                _ => role_code(leaf.role).into(),
            };
            groups.entry(part).or_default().push(*leaf);
        }
        node.child_count = groups.len() as u64;
        if depth == 0 {
            return node;
        }
        let part = |leaf: &Leaf| match kind {
            NodeKind::Snapshot => leaf.operator.to_string(),
            NodeKind::Operator if leaf.subtask == NONE => "-".to_owned(),
            NodeKind::Operator => leaf.subtask.to_string(),
            _ => leaf.role.to_string(),
        };
        let mut groups: Vec<(u64, String, Vec<Leaf>)> = groups
            .into_values()
            .filter_map(|leaves| {
                let bytes = leaves
                    .iter()
                    .fold(0u64, |sum, leaf| sum.saturating_add(leaf.bytes));
                Some((bytes, part(leaves.first()?), leaves))
            })
            .collect();
        groups.sort_by_key(|(bytes, _, _)| std::cmp::Reverse(*bytes));
        let below = match kind {
            NodeKind::Snapshot => NodeKind::Operator,
            NodeKind::Operator => NodeKind::Subtask,
            _ => NodeKind::Role,
        };
        for (number, (bytes, part, leaves)) in groups.into_iter().enumerate() {
            if number >= LISTED {
                node.others_bytes = node.others_bytes.saturating_add(bytes);
                continue;
            }
            let key = if node.key.is_empty() {
                part
            } else {
                format!("{}/{part}", node.key)
            };
            node.children.push(self.node(below, key, &leaves, depth - 1));
        }
        node
    }

    fn handles_of_role(&self, node: &mut Node, leaves: &[Leaf], depth: u8) {
        node.child_count = leaves.len() as u64;
        if depth == 0 {
            return;
        }
        let mut sorted: Vec<&Leaf> = leaves.iter().collect();
        sorted.sort_by_key(|leaf| (std::cmp::Reverse(leaf.bytes), leaf.at));
        for (number, leaf) in sorted.into_iter().enumerate() {
            if number >= LISTED {
                node.others_bytes = node.others_bytes.saturating_add(leaf.bytes);
                continue;
            }
            node.children.push(Node {
                kind: NodeKind::Handle,
                key: format!("{}/{}", node.key, leaf.at),
                name: self.node_name(NodeKind::Handle, leaf),
                bytes: leaf.bytes,
                handles: 1,
                row: leaf.row,
                children: Vec::new(),
                child_count: 0,
                others_bytes: 0,
            });
        }
    }

    fn node_name(&self, kind: NodeKind, leaf: &Leaf) -> String {
        match kind {
            NodeKind::Snapshot => "snapshot".to_owned(),
            NodeKind::Operator => Shown(self.operator_name(leaf.operator)).to_string(),
            NodeKind::Subtask if leaf.subtask == NONE => "coordinator".to_owned(),
            NodeKind::Subtask => format!("subtask {}", leaf.subtask),
            NodeKind::Role => leaf.role.to_string(),
            NodeKind::Handle => match leaf.row.and_then(|row| self.handles.all().get(row as usize)) {
                None => format!("inlined in _metadata, at byte {}", leaf.at),
                Some(row) if row.names() == Names::Directory => {
                    Shown(&self.handles.location(row, &self.bytes).to_string()).to_string()
                }
                Some(row) => {
                    let name = flink_checkpoint::JavaStr::from_bytes(row.name(&self.bytes)).to_string();
                    Shown(&name).to_string()
                }
            },
        }
    }
}

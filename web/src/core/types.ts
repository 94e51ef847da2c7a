// The documents that the core answers with: declared once, in its npm package.
export type {
  Amount, BucketForecast, Check, Comparison, Detail, Difference, Field, Fields, Forecast, Glance, Harm, Held, KeyGroups, Node as TreeNode, OperatorName, OperatorSummary,
  OperatorView, Orphans, Query, Reading, Referrers, RuleName, Summary, Sum, Whose,
} from '../../../wasm/npm/index.js';

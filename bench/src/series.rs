//! Repeated measurements of one quantity.

use serde::{Deserialize, Serialize};

/// At least so often is everything measured.
pub(crate) const RUNS: usize = 11;

/// Values of one quantity, in the order in which they were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Series(Vec<f64>);

impl Series {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn sorted(&self) -> Vec<f64> {
        let mut values = self.0.clone();
        values.sort_by(f64::total_cmp);
        values
    }

    /// The smallest value; NaN of an empty series.
    pub(crate) fn least(&self) -> f64 {
        self.sorted().first().copied().unwrap_or(f64::NAN)
    }

    /// The middle value, of an even number the upper of both; NaN of an empty series.
    pub(crate) fn median(&self) -> f64 {
        self.sorted().get(self.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The largest value; NaN of an empty series.
    pub(crate) fn most(&self) -> f64 {
        self.sorted().last().copied().unwrap_or(f64::NAN)
    }
}

impl FromIterator<f64> for Series {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Series(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Series;

    #[test]
    fn median_and_extremes_are_of_the_values_and_not_of_their_order() {
        let series: Series = [9.0, 1.0, 5.0, 2.0, 7.0].into_iter().collect();
        assert_eq!((series.least(), series.median(), series.most()), (1.0, 5.0, 9.0));
        assert!(Series::default().median().is_nan());
    }
}

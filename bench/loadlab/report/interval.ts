/** When two tools differ. */
import type { MedianInterval } from '../../harness/figures/statistics.js'

/** Whether an interval of ratios excludes 1 by more than 2 %: less is no difference. */
export function differsFromOne({ low, high }: MedianInterval): boolean {
  return low > 1.02 || high < 0.98
}

/** What an answer has consumed and what that costs: by its provider's figures, or by ours where it has sent none. */
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { EstimatedUsage, StreamTotals } from '../metering/format.js'
import { type CallCost, chargeableCost, costOf, pricesInForce, withPictures } from '../pricing/price.js'
import type { Consumption } from './generation.js'

/** By the provider's figures; null where it has sent none, or none that can be charged. */
export function reportedConsumption(
  request: RoutedRequest,
  endpoint: ModelEndpoint,
  { usage: told, serviceTier, images }: StreamTotals,
): Consumption | null {
  if (told === null) return null
  const prices = pricesInForce(endpoint.prices, serviceTier)
  const usage = withPictures(told, request, prices, images)
  const cost = chargeableCost(usage, prices)
  return cost === null ? null : { usage, cost: sharedCost(cost, endpoint), estimated: false, guessed: false }
}

/** By figures of ours. */
export function estimatedConsumption(
  request: RoutedRequest,
  endpoint: ModelEndpoint,
  { serviceTier, images }: StreamTotals,
  { usage: counted, isGuessed }: EstimatedUsage,
): Consumption {
  const prices = pricesInForce(endpoint.prices, serviceTier)
  const usage = withPictures(counted, request, prices, images)
  return { usage, cost: sharedCost(costOf(usage, prices), endpoint), estimated: true, guessed: isGuessed }
}

/** On a caller's own account nothing is charged here: the provider asks the caller for all of it (contract/decisions 61). */
function sharedCost(cost: CallCost, { own }: ModelEndpoint): CallCost {
  return own === undefined ? cost : { ...cost, total: 0, byok: cost.total }
}

import type { Config } from '../config/config.js'
import type { BucketRule } from '../limits/token-bank.js'

/** How many exchanges a client address gets (contract/decisions 36), over all workers. */
export function exchangeRule(config: Pick<Config, 'exchangesPerMinute' | 'exchangeBurst'>): BucketRule {
  return { perMinute: config.exchangesPerMinute, burst: config.exchangeBurst }
}

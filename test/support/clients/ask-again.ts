import type { Asked } from '../servers/gateway-server.js'

/** As long as the machines of a fleet may need on a busy machine to call in what they hold. */
const DEADLINE_MS = 30_000

/**
 * Asks as a patient caller does: again after `Retry-After` where the answer is 503. Machines of a fleet answer so while
 * one of them has not said what it holds of a limit (contract/fleet 6.4), and such a call has cost nothing.
 */
export async function askPatiently(ask: () => Promise<Asked>): Promise<Asked> {
  const until = performance.now() + DEADLINE_MS
  for (;;) {
    const answer = await ask()
    const retryAfter = answer.headers.get('retry-after')
    if (answer.status !== 503 || retryAfter === null || performance.now() > until) return answer
    await new Promise((resolve) => setTimeout(resolve, Number(retryAfter) * 1_000))
  }
}

import { eventually } from '../timing/eventually.js'
import type { HttpClient } from './http-client.js'

interface Stats {
  readonly operations: { readonly [name: string]: { readonly in_flight: number } }
}

/** Resolves when so many calls of an operation are in flight. With one worker there is one to ask. */
export async function inFlight(client: HttpClient, operation: string, count: number): Promise<void> {
  await eventually(async () => {
    const stats = (await client.get('/api/v1/stats')).json as Stats
    return stats.operations[operation]?.in_flight === count
  })
}

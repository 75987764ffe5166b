/** The sides of a scenario of the messages endpoint: one server, asked in that format and in chat's. */

import { isWhole, type RequestSpec } from '../../harness/http/requests.js'
import type { Children } from '../../harness/server/children.js'
import type { LoadJob } from '../job.js'
import { sampleReply } from '../sample-reply.js'
import type { Scenario } from '../scenarios.js'
import { type CampaignSettings, runLoad, type Side } from '../sides.js'
import { callSpec, SLUICE } from './calls.js'
import { startGateway, startMock } from './gateway-sides.js'

interface MessagesSides {
  readonly ours: Side
  readonly floor: Side
  stop(): Promise<void>
}

/**
 * Starts both. `chatModel` is what chat asks for. Throws when the server does not come up, or does not give one whole
 * answer before anything is measured.
 */
export async function startMessagesSides(
  scenario: Scenario,
  chatModel: string,
  settings: CampaignSettings,
  children: Children,
): Promise<MessagesSides> {
  const mock = await startMock(children, settings.pinning.generatorCores)
  const server = await startGateway(children, settings, mock.origin)
  const side = async (requests: readonly RequestSpec[]): Promise<Side> => {
    for (const request of requests) await proveWhole(server.origin, request)
    const streams = requests[0]?.answer?.kind === 'stream'
    const changes: Partial<LoadJob> = {
      requests,
      upstreamPids: mock.pids,
      ...(streams && { tool: 'streams' as const }),
    }
    return {
      measure: () => runLoad(server, scenario, settings, children, changes),
      stop: async () => {},
    }
  }
  const ours = await side(scenario.requests)
  const floor = await side([callSpec(SLUICE, chatModel)])
  // Both sides are the same process: without this the first would warm it up for the second.
  await floor.measure()
  await ours.measure()
  const stop = async () => {
    await Promise.all([server.stop(), mock.stop()])
  }
  return { ours, floor, stop }
}

async function proveWhole(origin: string, request: RequestSpec): Promise<void> {
  const { body } = await sampleReply(origin, request, { next: 1, spread: 1 })
  if (request.answer === undefined || isWhole(request.answer, body)) return
  throw new Error(`${request.path} gave no whole answer: ${body.slice(-300)}`)
}

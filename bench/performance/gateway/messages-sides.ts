/** The sides of a scenario of the messages endpoint: one server, asked in that format and in chat's. */

import { isCompleteBody, type RequestSpec } from '../../harness/http/requests.js'
import type { ChildProcesses } from '../../harness/server/child-processes.js'
import type { LoadJob } from '../job.js'
import { sampleReply } from '../sample-reply.js'
import type { Scenario } from '../scenarios.js'
import { type CampaignSettings, type MeasuredSide, runLoad } from '../sides.js'
import { callSpec, SLUICE_CHAT } from './calls.js'
import { startGateway, startMock } from './gateway-sides.js'

interface MessagesSides {
  readonly ours: MeasuredSide
  readonly floor: MeasuredSide
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
  children: ChildProcesses,
): Promise<MessagesSides> {
  const mock = await startMock(children, settings.pinning.generatorCores)
  const server = await startGateway(children, settings, mock.origin)
  const side = async (requests: readonly RequestSpec[]): Promise<MeasuredSide> => {
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
  const floor = await side([callSpec(SLUICE_CHAT, chatModel)])
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
  if (request.answer === undefined || isCompleteBody(request.answer, body)) return
  throw new Error(`${request.path} gave no whole answer: ${body.slice(-300)}`)
}

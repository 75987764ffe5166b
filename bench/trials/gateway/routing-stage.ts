/** A gateway with one model that two providers serve, each with a switch. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { requestOnce } from '../../harness/http/connection.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { ADMIN_ENVIRONMENT, API_KEY } from '../../performance/gateway/calls.js'
import { apiRequest, getRequest } from '../requests.js'
import type { TrialContext } from '../trial.js'
import type { RoutingMockState } from './routing-mock.js'

const ROUTED_MODEL = 'trial/routed'
const MOCK = new URL('./routing-mock.js', import.meta.url)

/** A provider under trial. */
interface SwitchedProvider {
  readonly name: string
  readonly port: number
  /** Serves, turns everything away, or ends what is under way and goes. */
  switchTo(mode: 'serve' | 'refuse' | 'leave'): Promise<void>
  /** Faults: Error when it does not answer. */
  state(): Promise<RoutingMockState>
  /** SIGKILL. */
  kill(): void
}

export interface RoutingStage {
  readonly server: SluiceServer
  readonly providers: readonly [SwitchedProvider, SwitchedProvider]
  stop(): Promise<void>
}

async function startProvider(
  { staging }: TrialContext,
  name: string,
  answerMs: number,
): Promise<SwitchedProvider> {
  const { port, end } = await staging.startHelper(null, MOCK, { answerMs })
  const ask = async (path: string): Promise<string> => {
    const answer = await requestOnce(port, getRequest(path), 5_000)
    if (answer?.status !== 200) throw new Error(`the provider ${name} does not answer`)
    return answer.body.toString()
  }
  return {
    name,
    port,
    switchTo: async (mode) => void (await ask(`/${mode}`)),
    state: async () => JSON.parse(await ask('/state')) as RoutingMockState,
    kill: end,
  }
}

/** Starts all three. The providers answer after `answerMs`; both cost the same, so calls are shared evenly. */
export async function stageRouting(context: TrialContext, answerMs: number): Promise<RoutingStage> {
  const { staging } = context
  const one = await startProvider(context, 'One', answerMs)
  const two = await startProvider(context, 'Two', answerMs)
  const provider = ({ name, port }: SwitchedProvider): object => ({
    kind: 'openai',
    name,
    base_url: `http://127.0.0.1:${port}/v1`,
  })
  const config = {
    providers: { one: provider(one), two: provider(two) },
    models: { [ROUTED_MODEL]: { endpoints: [{ provider: 'one' }, { provider: 'two' }] } },
  }
  const file = join(staging.freshFolder(), 'sluice.json')
  writeFileSync(file, JSON.stringify(config))
  const server = await staging.start({
    workers: 2,
    environment: { SLUICE_CONFIG: file, ...ADMIN_ENVIRONMENT },
  })
  const stop = async (): Promise<void> => {
    await server.stop()
    one.kill()
    two.kill()
  }
  return { server, providers: [one, two], stop }
}

/** One call of the model that both serve. */
export function routedCall(session?: string): Buffer {
  const messages = [{ role: 'user', content: 'one call' }]
  const body = { model: ROUTED_MODEL, max_tokens: 8, messages, session_id: session }
  return apiRequest('POST', '/chat/completions', body, API_KEY)
}

/** A gateway with one model that two providers serve, each with a switch. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { requestOnce } from '../../harness/http/connection.js'
import { ADMIN_ENVIRONMENT, API_KEY } from '../../performance/gateway/calls.js'
import { apiRequest, getRequest } from '../requests.js'
import type { TrialContext } from '../trial.js'
import type { RoutingMockState } from './routing-mock.js'

const ROUTED_MODEL = 'trial/routed'
/** Nano-dollars of an answer of the providers, whose figures are always the same, at these prices. */
export const ROUTED_NANOS = 5 * 1_000 + 3 * 2_000
const PRICES = { prompt: '0.000001', completion: '0.000002' }
const MOCK = new URL('./routing-mock.js', import.meta.url)

export type RoutingStage = Awaited<ReturnType<typeof stageRouting>>
type SwitchedProvider = Awaited<ReturnType<typeof startProvider>>

/** A provider under trial. */
async function startProvider({ staging }: TrialContext, name: string, answerMs: number) {
  const tally = join(staging.freshFolder(), 'tally')
  const { port, end } = await staging.startHelper(null, MOCK, { answerMs, tally })
  const ask = async (path: string): Promise<string> => {
    const answer = await requestOnce(port, getRequest(path), 5_000)
    if (answer?.status !== 200) throw new Error(`the provider ${name} does not answer`)
    return answer.body.toString()
  }
  return {
    name,
    port,
    /** Serves, turns everything away, or ends what is under way and goes. */
    switchTo: async (mode: 'serve' | 'refuse' | 'leave') => void (await ask(`/${mode}`)),
    /** Faults: Error when it does not answer. */
    state: async () => JSON.parse(await ask('/state')) as RoutingMockState,
    /** Calls that came and were not answered; readable also after its death. */
    unanswered: (): number => {
      const [came, answered] = new Uint32Array(new Uint8Array(readFileSync(tally)).buffer)
      return (came ?? 0) - (answered ?? 0)
    },
    /** SIGKILL. */
    kill: end,
  }
}

/** Starts all three. The providers answer after `answerMs`; both cost the same, so calls are shared evenly. */
export async function stageRouting(context: TrialContext, answerMs: number) {
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
    models: {
      [ROUTED_MODEL]: { endpoints: ['one', 'two'].map((slug) => ({ provider: slug, prices: PRICES })) },
    },
  }
  const file = join(staging.freshFolder(), 'sluice.json')
  writeFileSync(file, JSON.stringify(config))
  const dataFolder = staging.freshFolder()
  const server = await staging.start({
    workers: 2,
    dataFolder,
    environment: { SLUICE_CONFIG: file, ...ADMIN_ENVIRONMENT },
  })
  const stop = async (): Promise<void> => {
    await server.stop()
    one.kill()
    two.kill()
  }
  return { server, dataFolder, providers: [one, two] as const, stop }
}

/** One call of the model that both serve. */
export function routedCall(session?: string, stream = false): Buffer {
  const messages = [{ role: 'user', content: 'one call' }]
  const body = { model: ROUTED_MODEL, max_tokens: 8, messages, session_id: session, stream }
  return apiRequest('POST', '/chat/completions', body, API_KEY)
}

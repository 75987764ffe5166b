/** A gateway with one model that two providers serve, each with a switch. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { requestOnce } from '../../harness/http/connection.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { API_KEY, MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import { startHelper } from '../helper-process.js'
import { bodylessRequest } from '../requests.js'
import { apiBytes } from '../storage/ledger-stage.js'
import type { TrialContext } from '../trial.js'
import type { RoutingMockJob, RoutingMockState } from './routing-mock.js'

const ROUTED_MODEL = 'trial/routed'
const ROUTED_WORKERS = 2

/** A provider under trial. */
export interface SwitchedProvider {
  readonly name: string
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
): Promise<SwitchedProvider & { readonly port: number }> {
  const job: RoutingMockJob = { port: await staging.freePort(), answerMs }
  const program = new URL('./routing-mock.js', import.meta.url)
  const helper = await startHelper(staging, null, { program, message: job })
  const asked = async (path: string): Promise<Buffer> => {
    const answer = await requestOnce(job.port, bodylessRequest('GET', path), 5_000)
    if (answer?.status !== 200) throw new Error(`the provider ${name} does not answer`)
    return answer.body
  }
  return {
    name,
    port: job.port,
    switchTo: async (mode) => void (await asked(`/${mode}`)),
    state: async () => JSON.parse((await asked('/state')).toString()) as RoutingMockState,
    kill: () => helper.end(),
  }
}

/** Starts all three. The providers answer after `answerMs`; both cost the same, so calls are shared evenly. */
export async function stageRouting(context: TrialContext, answerMs: number): Promise<RoutingStage> {
  const { staging } = context
  const one = await startProvider(context, 'One', answerMs)
  const two = await startProvider(context, 'Two', answerMs)
  const file = join(staging.freshFolder(), 'sluice.json')
  const provider = ({ name, port }: typeof one): object => ({
    kind: 'openai',
    name,
    base_url: `http://127.0.0.1:${port}/v1`,
  })
  const config = {
    providers: { one: provider(one), two: provider(two) },
    models: { [ROUTED_MODEL]: { endpoints: [{ provider: 'one' }, { provider: 'two' }] } },
  }
  writeFileSync(file, JSON.stringify(config))
  const environment = {
    SLUICE_CONFIG: file,
    SLUICE_API_KEY: API_KEY,
    SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY,
  }
  const server = await staging.start({ workers: ROUTED_WORKERS, poolThreads: 1, environment })
  const stop = async (): Promise<void> => {
    await server.stop()
    one.kill()
    two.kill()
  }
  return { server, providers: [one, two], stop }
}

/** One call of the model that both serve. */
export function routedCall(session?: string): Buffer {
  return apiBytes(API_KEY, 'POST', '/chat/completions', {
    model: ROUTED_MODEL,
    max_tokens: 8,
    messages: [{ role: 'user', content: 'one call' }],
    ...(session === undefined ? {} : { session_id: session }),
  })
}

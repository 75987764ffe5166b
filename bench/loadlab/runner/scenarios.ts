/** What the comparison does to each tool, as data. */
import type { ToolVariant } from '../tools/tool.js'

export interface CompareScenario {
  readonly name: string
  /** A sentence for the report. */
  readonly says: string
  readonly path: string
  /** The operation's name at the server. */
  readonly operation: string
  readonly connections: number
  /** Requests per second; null: as fast as the tool can. */
  readonly rate: number | null
  readonly seconds: number
  /** Of a quick comparison, where that is less. */
  readonly quickSeconds?: number
  readonly delays: 'random' | 'quasi'
  /** Left out of a quick comparison, and where the server's key is not known. */
  readonly needsKey?: true
  /** Answers are withheld for `forS`, beginning between `afterS[0]` and `afterS[1]` seconds after the start. */
  readonly hold?: { readonly forS: number; readonly afterS: readonly [number, number] }
  /** Which variants take part, whatever the rate says. */
  readonly takes: (variant: ToolVariant) => boolean
}

const HEALTH = { path: '/api/v1/health', operation: 'health', delays: 'random' } as const
const REPORT = { path: '/api/v1/report', operation: 'report', delays: 'quasi' } as const
const takesRate = ({ rate, onlyWhenAsked }: ToolVariant): boolean => rate === 'needed' && !onlyWhenAsked
const takesNoRate = ({ rate, onlyWhenAsked }: ToolVariant): boolean => rate === 'none' && !onlyWhenAsked
const namedOneOf =
  (...names: string[]) =>
  ({ name }: ToolVariant): boolean =>
    names.includes(name)

/** In the order of the report. */
export const COMPARE_SCENARIOS: readonly CompareScenario[] = [
  {
    name: 'hold',
    says: '200 requests/s to the fastest operation for 8 s, 20 connections; for one second every answer is withheld. Users who call at that rate wait: p90 200, p99 920, p99.9 992 ms.',
    ...HEALTH,
    connections: 20,
    rate: 200,
    seconds: 8,
    hold: { forS: 1, afterS: [3, 4] },
    // A closed loop has no rate, and people quote its latencies all the same.
    takes: (variant) =>
      takesRate(variant) ||
      (takesNoRate(variant) && !namedOneOf('drive-closed', 'autocannon-events', 'httperf')(variant)),
  },
  {
    name: 'rate',
    says: '100 requests/s to the report operation, whose delays are uniform over 100 to 500 ms, 52 connections, nothing goes wrong. Truth: p50 300, p90 460, p99 496 ms.',
    ...REPORT,
    connections: 52,
    rate: 100,
    seconds: 10,
    quickSeconds: 6,
    takes: takesRate,
  },
  {
    name: 'uniform',
    says: '50 connections ask the report operation again and again, delays uniform over 100 to 500 ms. Truth: p50 300, p90 460, p99 496 ms, 166.6 requests/s.',
    ...REPORT,
    connections: 50,
    rate: null,
    seconds: 10,
    quickSeconds: 6,
    // httperf makes a number of calls, which here would take as long as they please.
    takes: (variant) => takesNoRate(variant) && variant.name !== 'httperf',
  },
  {
    name: 'saturation',
    says: '64 connections ask the fastest operation as fast as the tool can. Is the rate the server’s or the tool’s, and does the printed latency fit the printed rate?',
    ...HEALTH,
    connections: 64,
    rate: null,
    seconds: 5,
    quickSeconds: 3,
    takes: takesNoRate,
  },
  {
    name: 'long-outage',
    says: 'Every answer is withheld for 3 s of 8: does a timeout of the tool hide what users waited?',
    ...HEALTH,
    connections: 16,
    rate: 200,
    seconds: 8,
    hold: { forS: 3, afterS: [2, 3] },
    takes: namedOneOf('drive', 'wrk', 'wrk-default-timeout'),
  },
  {
    name: 'streams',
    says: '100 event streams at a time of a simulated model, 32 tokens each: the gateway as its callers see it. No other tool here times tokens.',
    path: '/api/v1/chat/completions',
    operation: 'chat_completions',
    connections: 100,
    rate: null,
    seconds: 15,
    delays: 'random',
    needsKey: true,
    takes: namedOneOf('drive-stream'),
  },
]

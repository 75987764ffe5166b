/** `npm run bench -- profiles` and `profile <name>`. */
import { planPinning } from '../../harness/machine/pinning.js'
import { numberOption, readFlags, UsageError, wholeOption } from '../../harness/option-values.js'
import { openWorkplace } from '../../harness/project.js'
import type { ChildProcesses } from '../../harness/server/child-processes.js'
import { gatewayEnvironment } from '../../performance/gateway/gateway-config.js'
import { startMock } from '../../performance/gateway/gateway-sides.js'
import { driveText } from '../drivers/drive-report.js'
import { INTERRUPTED, type Interruptible, withProgress } from '../drivers/running.js'
import { streamText } from '../drivers/stream-report.js'
import { tracedLoad } from '../drivers/traced-load.js'
import { PROFILES } from '../profiles.js'
import { startLabServer } from '../runner/lab-server.js'
import { type CriterionResult, judgeGateway, judgePractice, kneeText } from './criteria.js'
import { isTraced, type Profile } from './profile.js'
import { type GatewayResult, gatewaySeconds, runGateway } from './run-gateway.js'
import { type PracticeResult, practiceSeconds, runPractice } from './run-practice.js'

const profileUsage = `npm run bench -- profile <name> [options]

Runs one load profile against a server that it starts, pinned, with the lab switched on.

  --scale x    stretches every stage but the search for capacity (default 1; 30 makes a soak of half an hour)
  --seed n     of sequences and Poisson gaps (default 1)
  --arrivals file  of the profile trace: a pace tape, a Mooncake or an Azure trace; --speed n times as fast (default 1)
  --json       print JSON instead of text

Exit codes: 0 when every criterion was met, 1 when not, 2 for a bad option, 130 when interrupted.
`

export async function profilesCommand(args: readonly string[]): Promise<number> {
  const given = readFlags(args, '', 'json')
  if (given.json) {
    process.stdout.write(`${JSON.stringify([...PROFILES.values()])}\n`)
    return 0
  }
  for (const [name, { service, teaches, reports }] of PROFILES) {
    process.stdout.write(
      `${name.padEnd(16)} ${service}: ${teaches}\n${' '.repeat(17)}reports ${reports.join('; ')}\n`,
    )
  }
  return 0
}

type ProfileOptions = NonNullable<ReturnType<typeof readProfileOptions>>

export function readProfileOptions(args: readonly string[]) {
  const [name, ...rest] = args
  const given = readFlags(name?.startsWith('-') ? args : rest, 'scale seed arrivals speed', 'json help')
  if (given.help) return null
  const known = [...PROFILES.keys()].join(', ')
  if (name === undefined || name.startsWith('-')) throw new UsageError(`profile needs a name: ${known}`)
  const profile = PROFILES.get(name)
  if (profile === undefined) throw new UsageError(`there is no profile '${name}'; there are ${known}`)
  return {
    profile: withArrivals(profile, given),
    scale: numberOption('scale', given.scale, 1, 0.05, 1_000),
    seed: wholeOption('seed', given.seed, 1, 0, 1_000_000_000),
    json: given.json ?? false,
  }
}

interface ArrivalFlags {
  readonly arrivals?: string
  readonly speed?: string
  readonly scale?: string
}

/** The profile with the file that its traced loads play, as long as that is. */
function withArrivals(profile: Profile, { arrivals: file, speed: asked, scale }: ArrivalFlags): Profile {
  const isOfTrace = profile.service === 'gateway' && profile.stages.some(({ loads }) => loads.some(isTraced))
  if (!isOfTrace) {
    if (file === undefined && asked === undefined) return profile
    throw new UsageError(`--arrivals and --speed are for the profile trace, not for ${profile.name}`)
  }
  if (file === undefined) throw new UsageError(`the profile ${profile.name} needs --arrivals`)
  if (scale !== undefined)
    throw new UsageError('--arrivals excludes --scale: the file says how long; see --speed')
  const speed = numberOption('speed', asked, 1, 0.001, 10_000)
  const stages = profile.stages.map((stage) => ({
    ...stage,
    loads: stage.loads.map((each) =>
      isTraced(each) ? { ...each, load: { ...each.load, file, speed } } : each,
    ),
    seconds: Math.max(
      stage.seconds,
      ...stage.loads.filter(isTraced).map(({ model }) => tracedLoad(file, speed, [model]).seconds),
    ),
  }))
  return { ...profile, stages }
}

/** Runs the command; resolves to the exit code. */
export async function profileCommand(args: readonly string[]): Promise<number> {
  const asked = readProfileOptions(args)
  if (asked === null) {
    process.stdout.write(profileUsage)
    return 0
  }
  const { tempFolder, children } = openWorkplace('profile')
  const state = new RunningProfile()
  try {
    const work = () => runProfile(asked, children, tempFolder, state)
    const outcome = await withProgress(state, () => state.line, false, work)
    process.stdout.write(
      asked.json ? `${JSON.stringify({ ...outcome, profile: asked.profile.name })}\n` : verdictText(outcome),
    )
    if (state.interrupted) return INTERRUPTED
    return outcome.judged.every(({ met }) => met) ? 0 : 1
  } finally {
    await children.stopAll()
  }
}

/** What runs now, so that an interruption finds it. */
class RunningProfile implements Interruptible {
  interrupted = false
  #line = (): string => 'profile: starting the server'
  #loads: Interruptible[] = []

  add(load: Interruptible): void {
    this.#loads.push(load)
    if (this.interrupted) load.interrupt()
  }

  get line(): string {
    return this.#line()
  }

  /** What the progress line says from now on. */
  next(line: () => string): void {
    this.#loads = []
    this.#line = line
  }

  interrupt(): void {
    this.interrupted = true
    for (const load of this.#loads) load.interrupt()
  }
}

interface ProfileOutcome {
  readonly results: readonly (PracticeResult | GatewayResult)[]
  readonly judged: readonly CriterionResult[]
  readonly knee?: string
}

async function runProfile(
  { profile, scale, seed, json }: ProfileOptions,
  children: ChildProcesses,
  tempFolder: string,
  state: RunningProfile,
): Promise<ProfileOutcome> {
  const pinning = planPinning(1)
  for (const warning of pinning.warnings) process.stderr.write(`profile: ${warning}\n`)
  const forPractice = profile.service === 'practice'
  const upstream = forPractice ? '' : (await startMock(children, pinning.generatorCores)).origin
  const environment = forPractice
    ? { SLUICE_SEED_ITEMS: String(profile.seedItems) }
    : gatewayEnvironment(tempFolder, upstream)
  const server = await startLabServer(children, pinning, tempFolder, environment)
  const context = {
    origin: server.origin,
    control: server.control,
    serverPids: server.pids ?? [],
    seed,
    scale,
    running: (load: Interruptible) => state.add(load),
    interrupted: () => state.interrupted,
  }
  const began = performance.now()
  /** Gathers the results of the stages, and tells each of them and the time left. */
  const collect = async <Result>(
    results: AsyncIterable<Result>,
    text: (result: Result) => string,
    allSeconds: number,
  ): Promise<Result[]> => {
    const all: Result[] = []
    const line = () => {
      const left = Math.max(0, allSeconds - (performance.now() - began) / 1000)
      return `profile ${profile.name}: ${all.length} of ${profile.stages.length} stages done, ${left.toFixed(0)} s left`
    }
    state.next(line)
    for await (const result of results) {
      all.push(result)
      state.next(line)
      if (!json) process.stdout.write(text(result))
    }
    return all
  }
  if (profile.service === 'practice') {
    const stages = runPractice(profile, context)
    const results = await collect(stages, practiceText, practiceSeconds(profile, scale))
    const knee = kneeText(profile, results)
    return { results, judged: judgePractice(profile.passes, results), ...(knee !== null && { knee }) }
  }
  const progress = (text: string) => state.next(() => `profile ${profile.name}: ${text}`)
  const stages = runGateway(profile, { ...context, upstream, progress })
  const results = await collect(stages, gatewayText, gatewaySeconds(profile, scale))
  return { results, judged: judgeGateway(profile.passes, results) }
}

function practiceText({ label, rate, drive, cpuUsPerRequest, extras }: PracticeResult): string {
  const cpu = cpuUsPerRequest === null ? '' : `, server ${cpuUsPerRequest.toFixed(1)} µs a request`
  const more = Object.entries(extras).map(([name, value]) => `${name} ${value.toFixed(1)}`)
  const title = `== ${label}${rate === null ? '' : `, ${rate.toFixed(0)}/s due`}${cpu}`
  return `${title}\n${driveText(drive)}${more.length === 0 ? '' : `${more.join(', ')}\n`}`
}

function gatewayText(result: GatewayResult): string {
  const { label, calls, upstreamIdleMs, upstreamOverrun, stallMs, aroundMs, rssMiB, fragments } = result
  const lines = calls.map(
    (call) => `-- ${call.label}\n${call.drive === null ? streamText(call.stream!) : driveText(call.drive)}`,
  )
  if (fragments !== null) {
    const parts = Object.entries(fragments.parts).map(
      ([part, { answered, sent }]) => `${part} ${answered} of ${sent}`,
    )
    const failed =
      fragments.failedAt.length === 0
        ? ''
        : `; not answered when cut at byte ${fragments.failedAt.join(', ')}`
    lines.push(`answered: ${parts.join(', ')}${failed}\n`)
  }
  const idle =
    upstreamIdleMs === null ? 'it still held calls after 5 s' : `idle after ${upstreamIdleMs.toFixed(0)} ms`
  const overrun = upstreamOverrun ? `, ${upstreamOverrun} finished for nobody` : ''
  const stood = `stood for ${stallMs.toFixed(0)} ms at most, upstream and load for ${aroundMs.toFixed(0)} ms`
  const server = `server ${rssMiB.toFixed(0)} MiB; it ${stood}`
  return `== ${label}; upstream ${idle}${overrun}; ${server}\n${lines.join('')}`
}

function verdictText({ judged, knee }: ProfileOutcome): string {
  const line = ({ wanted, value, met }: CriterionResult): string =>
    `${met ? 'met   ' : 'MISSED'} ${wanted}: ${value === null ? 'not measured' : Number(value.toFixed(3))}\n`
  return `\n${judged.map(line).join('')}${knee === undefined ? '' : `${knee}\n`}`
}

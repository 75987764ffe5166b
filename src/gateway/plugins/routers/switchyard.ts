/**
 * `switchyard-router`: of the models that the request names one that is cheap and one that is capable; which of them
 * answers is decided by what tools have said so far, by a judge, or by neither.
 */
import { type Fault, invalidInput } from '../../../base/fault.js'
import type { Catalog } from '../../catalog/catalog.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import type { RequestedPlugin } from '../../formats/tooling.js'
import type { ModelPins } from '../../routing/model-pins.js'
import { judgeText, SIMULATED_JUDGE } from '../judge/judge.js'
import type { Plugin, PluginRequest, PluginRun, RouteChoice } from '../port/plugin.js'
import {
  byPrice,
  type Candidate,
  findCandidates,
  isSimulated,
  missingColumn,
  noCandidate,
  poolOf,
  qualityOf,
  type RoutableRequest,
} from './candidates.js'
import { pinModel, pinnedModel } from './pinned-model.js'
import { stageSignal } from './stage-signal.js'
import { latestUserText } from './task.js'

const ID = 'switchyard-router'

type Algorithm = 'capability' | 'stage' | 'auto' | 'random' | 'composite' | 'passthrough'

/** Models that a choice comes with. */
const CHOSEN = 3

/** Those that ask a judge where nothing else decides. */
const WITH_JUDGE: ReadonlySet<Algorithm> = new Set(['capability', 'stage', 'composite'])

interface SwitchyardPorts {
  readonly catalog: () => Catalog
  readonly pins: ModelPins
  /** `plugins.switchyard-router.model`: the model that judges; null where there is none. */
  readonly judge: () => string | null
  /** From 0 to 1, without 1. */
  readonly random: () => number
}

export function createSwitchyardRouter(ports: SwitchyardPorts): Plugin {
  return {
    id: ID,
    prepare: (asked, of) => {
      let open: OpenQuestion | null = null
      return {
        route: () => {
          const chosen = chooseTrack(ports, asked, of)
          if (!('choose' in chosen)) return chosen
          open = chosen
          return { ...chosen.choose('capable', ''), reason: '' }
        },
        // Nothing runs before there is a plan, so the judge is asked behind it, and the turns are planned by its word.
        before: async ({ request }, run) => {
          if (open === null) return { request }
          const { track, why } = await askJudge(open, run)
          pinModel(ports.pins, open.tracks[track].model.id, request, of.caller.organizationId)
          const { models, reason } = open.choose(track, why)
          const pipeline = { type: 'plugin', name: ID, summary: reason } as const
          return { request: withModels(request, models), pipeline }
        },
      }
    },
  }
}

/** A model for tasks that are easy, and one for those that are not; they may be one and the same. */
interface Tracks {
  readonly efficient: Candidate
  readonly capable: Candidate
}

type Track = keyof Tracks

const TRACKS = ['efficient', 'capable'] as const

/** A choice that waits for a judge. */
interface OpenQuestion {
  readonly tracks: Tracks
  readonly judge: string
  readonly text: string
  choose(track: Track, why: string): RouteChoice
}

function chooseTrack(
  ports: SwitchyardPorts,
  asked: RequestedPlugin,
  { caller, request }: PluginRequest,
): RouteChoice | OpenQuestion | Fault {
  const { algorithm = 'stage' } = asked.options as { readonly algorithm?: Algorithm }
  const routable = request as RoutableRequest
  const candidates = namedCandidates(ports.catalog(), routable)
  if (candidates.length === 0) return noCandidate(ID)
  const choose = (chosen: Candidate, why: string): RouteChoice => ({
    models: [chosen, ...candidates.filter((each) => each !== chosen)]
      .slice(0, CHOSEN)
      .map(({ model }) => model.id),
    strategy: 'switchyard',
    reason: `${ID} (${algorithm}) chose ${chosen.model.id}: ${why}`,
  })
  if (algorithm === 'passthrough') return choose(candidates[0]!, 'the first that is named')
  if (algorithm === 'random')
    return choose(candidates[Math.floor(ports.random() * candidates.length)]!, 'by lot')
  const tracks = tracksOf(candidates, isNamed(routable))
  if (tracks === null) return missingColumn(asked, 'quality')
  const judge =
    ports.judge() ?? (candidates.every(({ model }) => isSimulated(model)) ? SIMULATED_JUDGE : null)
  if (judge === null && WITH_JUDGE.has(algorithm)) return judgeMissing(asked)
  const before = pinnedModel(ports.pins, routable, caller.organizationId)
  const pinned = TRACKS.find((each) => tracks[each].model.id === before) ?? null
  const decision = decideWithoutJudge(algorithm, routable, pinned)
  if (decision !== null) return choose(tracks[decision.track], decision.why)
  const text = latestUserText(routable)
  return { tracks, judge: judge!, text, choose: (track, why) => choose(tracks[track], why) }
}

function judgeMissing({ place }: RequestedPlugin): Fault {
  return invalidInput(
    ['body', ...place, 'algorithm'],
    `needs a judge: set plugins.${ID}.model in the configuration, or ask for auto`,
  )
}

function isNamed({ models }: RoutableRequest): boolean {
  return models !== undefined && models.length > 0
}

/** The models of the list, in its order; without a list all of the catalogue that could answer. */
function namedCandidates(catalog: Catalog, request: RoutableRequest): readonly Candidate[] {
  if (!isNamed(request)) return findCandidates(catalog, request)
  const names = request.models!.map((name) => catalog.model(name)?.id ?? name)
  const found = findCandidates(catalog, request, poolOf(catalog, names)!)
  return found.toSorted((one, other) => names.indexOf(one.model.id) - names.indexOf(other.model.id))
}

/**
 * The cheapest and the dearest of those that were named. Of the whole catalogue the dearest need not be the best, so
 * there the one of most quality counts; null where no model has a figure.
 */
function tracksOf(candidates: readonly Candidate[], areNamed: boolean): Tracks | null {
  const sorted = candidates.toSorted(byPrice)
  if (areNamed) return { efficient: sorted[0]!, capable: sorted.at(-1)! }
  const judged = sorted.filter((each) => qualityOf(each, 'overall') !== null)
  if (judged.length === 0) return null
  const capable = judged.reduce((best, each) =>
    qualityOf(each, 'overall')! > qualityOf(best, 'overall')! ? each : best,
  )
  return { efficient: judged[0]!, capable }
}

interface Decision {
  readonly track: Track
  readonly why: string
}

/** A rule that a task breaks which the efficient model should not be given. */
const HARD_TASK =
  'hard: the task is one that a small and cheap language model would probably fail at, because it needs long reasoning, rare knowledge, or many steps that depend on each other'

const HARD_FROM = 0.5

/** Null where the judge has to be asked. */
function decideWithoutJudge(
  algorithm: Algorithm,
  request: RoutableRequest,
  pinned: Track | null,
): Decision | null {
  const signal = algorithm === 'capability' ? null : stageSignal(request)
  if (signal !== null) return signal
  if (algorithm === 'auto') return { track: 'capable', why: 'the results of tools decide nothing' }
  const isNewTurn = request.messages?.at(-1)?.role === 'user'
  if (algorithm === 'composite' && !isNewTurn && pinned !== null)
    return { track: pinned, why: 'the judge has decided at the beginning of this turn' }
  return null
}

async function askJudge({ judge, text }: OpenQuestion, run: PluginRun): Promise<Decision> {
  const judged = await judgeText(run, { model: judge, rules: [HARD_TASK], text })
  if (!judged.ok) return { track: 'capable', why: judged.reason }
  const [hardness] = judged.scores
  return hardness! >= HARD_FROM
    ? { track: 'capable', why: `the judge finds the task hard (${hardness})` }
    : { track: 'efficient', why: `the judge finds the task easy (${hardness})` }
}

function withModels(request: RoutedRequest, [model, ...others]: readonly string[]): RoutedRequest {
  return { ...request, model: model!, models: others }
}

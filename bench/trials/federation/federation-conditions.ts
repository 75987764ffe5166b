import { seededRandom } from '../../../src/base/random.js'
import { checkCondition, evaluateCondition } from '../../../workers/cel/condition-tasks.js'
import type { ConditionClaims } from '../../../workers/tasks.js'
import { median } from '../../harness/figures/statistics.js'
import {
  heavyConditions,
  largeClaims,
  randomCondition,
} from '../../performance/federation/condition-texts.js'
import type { AdminClient } from '../../performance/federation/trust.js'
import { atLeast, below, exactly, figure, playRounds, type Trial } from '../trial.js'
import { stageFederation } from './federation-stage.js'

/** Texts saved in a round. */
const TEXTS = 200
const WARM_UP = 50
const RUNS = 5

interface SaveCounts {
  readonly times: number[]
  accepted: number
  refused: number
  /** Answered with anything else. */
  readonly surprises: string[]
}

/** Saves a text in a policy of a running server, as an admin does. */
async function saveCondition(
  admin: AdminClient,
  policyId: string,
  condition: string,
  saves: SaveCounts | null,
): Promise<void> {
  const begun = performance.now()
  const { status, text } = await admin.request('PATCH', `/federation/policies/${policyId}`, { condition })
  const ms = performance.now() - begun
  if (saves === null) return
  saves.times.push(ms)
  if (status === 200) saves.accepted++
  else if (status === 400 || status === 422) saves.refused++
  else saves.surprises.push(`${status} ${text.slice(0, 100)} for ${JSON.stringify(condition.slice(0, 60))}`)
}

type EvaluationTime = ReturnType<typeof timeEvaluation>

/** The middle of several evaluations. Faults: Error when the text has turned out to be no condition. */
function timeEvaluation(name: string, text: string, claims: ConditionClaims) {
  const times: number[] = []
  for (let run = 0; run <= RUNS; run++) {
    const begun = performance.now()
    const outcome = evaluateCondition({ text, claims })
    times.push(performance.now() - begun)
    if (!outcome.ok || outcome.value.failure === 'the condition is refused')
      throw new Error(`${name} was refused`)
  }
  const [firstMs = 0, ...rest] = times
  return {
    name,
    ms: median(rest),
    /** With the reading of the text, which happens once in a thread. */
    firstMs,
  }
}

/** Of each shape the longest text that may be saved, over the largest tokens. */
function evaluateAll(): { readonly shapes: number; readonly all: readonly EvaluationTime[] } {
  const accepts = (text: string): boolean => {
    const outcome = checkCondition({ text })
    return outcome.ok && outcome.value.defect === null
  }
  const texts = heavyConditions(accepts)
  const all = texts.flatMap(({ name, text }) =>
    largeClaims().map((claims, index) => timeEvaluation(`${name}, claims ${index + 1}`, text, claims)),
  )
  return { shapes: texts.length, all }
}

export const federationConditions: Trial = {
  name: 'federation-conditions',
  summary:
    'random texts of 2,000 characters saved as conditions (200 a round), and the worst accepted ones evaluated',
  rounds: 5,
  roundLimitS: 60,
  run: async (context) => {
    const stage = await stageFederation(context, 1)
    const { trust } = await stage.newIssuer()
    const saves: SaveCounts = { times: [], accepted: 0, refused: 0, surprises: [] }
    const random = seededRandom(2)
    const saveTexts = async (count: number, into: SaveCounts | null): Promise<void> => {
      for (let index = 0; index < count; index++)
        await saveCondition(stage.admin, trust.policyId, randomCondition(index, random), into)
    }
    await saveTexts(WARM_UP, null)
    const line = () => `${TEXTS} texts saved, ${saves.accepted} accepted so far`
    await playRounds(context, () => saveTexts(TEXTS, saves), line)
    await stage.stop()
    const { shapes, all } = evaluateAll()
    const worst = all.reduce((a, b) => (b.ms > a.ms ? b : a))
    const first = all.reduce((a, b) => (b.firstMs > a.firstMs ? b : a))
    return {
      bars: [
        below('slowest save of a random text, over the wire', Math.max(...saves.times), 50, 'ms'),
        exactly('saves that were neither accepted nor refused', saves.surprises.length, 0),
        atLeast('texts accepted (else only refusals were tried)', saves.accepted, 1),
        atLeast('texts refused', saves.refused, 1),
        below('worst accepted condition', worst.ms, 10, 'ms'),
      ],
      figures: [
        figure('texts', saves.times.length),
        figure('accepted', saves.accepted),
        figure('middle save', median(saves.times), 'ms'),
        figure('shapes of heavy conditions', shapes),
        figure('worst evaluation with the reading of the text', first.firstMs, 'ms'),
      ],
      notes: [
        `worst: ${worst.name}`,
        `worst with the reading: ${first.name}`,
        ...saves.surprises.slice(0, 5),
      ],
    }
  },
}

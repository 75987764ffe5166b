/** Holds what was seen of one call against what its scenario asks for. */
import type { Answer } from './answer.js'
import { TEXT } from './answers.js'
import type { Heard } from './gateway-caller.js'
import { truthOf } from './judge-truth.js'
import { type Observation, quoted, sentence, waysTaken } from './observation.js'
import type { Attempt, Ending, Scenario, Step } from './scenario.js'
import { numberAt, objectAt, textAt } from './shape.js'

/**
 * How bad it is. `harm`: callers are left waiting, misled or billed twice. `outcome`: not what the contract asks for,
 * but clean. `truth`: what is told about it, or written down, is not what happened.
 */
type Weight = 'harm' | 'outcome' | 'truth'

export interface Complaint {
  readonly weight: Weight
  /** A sentence with the figures that disagree. */
  readonly sentence: string
}

/** Everything that disagrees; nothing when all is well. */
export function judge(scenario: Scenario, step: Step, observation: Observation): readonly Complaint[] {
  const harms = harmsOf(step, observation)
  const outcomes = outcomesOf(step, observation)
  // Of an answer that is not the expected one there is no saying what its metadata should be.
  const truths = harms.length + outcomes.length > 0 ? [] : truthOf(scenario, step, observation)
  return [
    ...harms.map((sentence) => ({ weight: 'harm', sentence }) as const),
    ...outcomes.map((sentence) => ({ weight: 'outcome', sentence }) as const),
    ...truths.map((sentence) => ({ weight: 'truth', sentence }) as const),
  ]
}

// ── Harm ────────────────────────────────────────────────────────────────────

/** Much longer than what was asked for is as good as no end. */
const FAR_TOO_LATE = 4

function harmsOf(step: Step, { heard, answer, seen }: Observation): string[] {
  const harms: string[] = []
  if (answer.fault !== null) harms.push(`the answer is not clean: ${answer.fault}`)
  const most = step.ms.most * FAR_TOO_LATE
  if (heard.endMs > most)
    harms.push(`it took ${Math.round(heard.endMs)} ms, and at most ${step.ms.most} were due`)
  if (answer.fault === null && looksComplete(heard, answer) && !isComplete(step.ending, answer)) {
    harms.push(`${quoted(answer.text)} is passed off as a complete answer`)
  }
  const paid = maybePaid(seen)
  if (paid > 1) harms.push(`${paid} endpoints were asked that may all bill it (${sentence(seen)})`)
  return harms
}

function looksComplete({ status }: Heard, { error }: Answer): boolean {
  return status === 200 && error === null
}

function isComplete(ending: Ending, { text, finish }: Answer): boolean {
  if (text === TEXT && finish === 'stop') return true
  return ending.kind === 'served' && text === ending.text && finish === ending.finish
}

/** Attempts that may be billed: a success, or a request that was read and got no answer. */
function maybePaid(seen: readonly Attempt[]): number {
  return seen.filter(([, status]) => status === 200 || status === 0).length
}

// ── Outcome ─────────────────────────────────────────────────────────────────

function outcomesOf(step: Step, observation: Observation): string[] {
  const { heard, answer, seen, held } = observation
  const found = [...endingFaults(step.ending, observation)]
  if (waysTaken(step, seen).length === 0) {
    found.push(
      `the provider was asked ${sentence(seen) || 'nothing'} instead of ${step.ways.map((way) => sentence(way)).join(' or ')}`,
    )
  }
  const { least, most } = step.ms
  if (heard.endMs < least || heard.endMs > most) {
    found.push(`it took ${Math.round(heard.endMs)} ms instead of ${least} to ${most}`)
  }
  if (step.comments && observation.mode === 'streamed' && !(answer.commented && heard.headMs < least)) {
    found.push(`no comment broke the silence before the first event, at ${Math.round(heard.headMs)} ms`)
  }
  if (held > 0) found.push(`${held} connections to a provider that was given up stayed open`)
  return found
}

function endingFaults(ending: Ending, { mode, heard, answer }: Observation): string[] {
  const faults: string[] = []
  const due = (what: string, found: unknown, expected: unknown): void => {
    if (found !== expected) faults.push(`${what} is ${quoted(found)} instead of ${quoted(expected)}`)
  }
  due('the status', heard.status, ending.kind === 'refused' ? ending.status : 200)
  if (heard.status === 0) return faults
  if (!String(heard.headers['x-generation-id'] ?? '').startsWith('gen-'))
    faults.push('there is no X-Generation-Id')
  if (ending.kind === 'served') {
    due('the text', answer.text, ending.text)
    due('finish_reason', answer.finish, ending.finish)
    return faults
  }
  const error = answer.error ?? {}
  due('error.code', numberAt(error, 'code'), ending.kind === 'refused' ? ending.status : ending.code)
  due('error_type', textAt(objectAt(error, 'metadata'), 'error_type'), ending.errorType)
  if (ending.kind === 'broken') due('the text before the error', answer.text, ending.said)
  else {
    if (ending.reason !== undefined)
      due('the provider’s reason', textAt(objectAt(error, 'metadata'), 'raw'), ending.reason)
    const when = heard.headers['retry-after'] ?? ''
    if (ending.saysWhen && !/^[1-9]\d*$/.test(when)) faults.push(`Retry-After is ${quoted(when)}`)
    if (mode === 'streamed')
      due('the type of the refusal', heard.headers['content-type']?.split(';')[0], 'application/json')
  }
  return faults
}

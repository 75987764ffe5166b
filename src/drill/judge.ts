/** Holds what was seen of one call against what its scenario asks for, and weighs what disagrees. */
import { FULL_TEXT } from './behaviours.js'
import { findUntruths } from './find-untruths.js'
import { numberMember, objectMember, type ParsedAnswer, textMember } from './parse-answer.js'
import {
  type CallObservation,
  type DeliveryMode,
  type DrillScenario,
  describeAttempts,
  disagreements,
  type ExpectedEnding,
  matchingPaths,
  type ProviderAttempt,
  quoteValue,
  type ScenarioStep,
} from './scenario.js'
import type { Complaint, DrillVerdict } from './verdict.js'

/** Everything that disagrees; nothing when all is well. */
export function judgeCall(
  scenario: DrillScenario,
  step: ScenarioStep,
  observation: CallObservation,
): readonly Complaint[] {
  const harms = findHarms(step, observation)
  const outcomes = findWrongOutcomes(step, observation)
  // Of an answer that is not the expected one there is no saying what its metadata should be.
  const truths = harms.length + outcomes.length > 0 ? [] : findUntruths(scenario, step, observation)
  return [
    ...harms.map((sentence) => ({ severity: 'harm', sentence }) as const),
    ...outcomes.map((sentence) => ({ severity: 'outcome', sentence }) as const),
    ...truths.map((sentence) => ({ severity: 'truth', sentence }) as const),
  ]
}

// ── Harm ────────────────────────────────────────────────────────────────────

/** Much longer than what was asked for is as good as no end. */
const FAR_TOO_LATE = 4

function findHarms(step: ScenarioStep, { response, answer, attempts }: CallObservation): string[] {
  const harms: string[] = []
  if (answer.fault !== null) harms.push(`the answer is not clean: ${answer.fault}`)
  const most = step.ms.most * FAR_TOO_LATE
  if (response.endMs > most)
    harms.push(`it took ${Math.round(response.endMs)} ms, and at most ${step.ms.most} were due`)
  const looksComplete = response.status === 200 && answer.error === null
  if (answer.fault === null && looksComplete && !isComplete(step.ending, answer)) {
    harms.push(`${quoteValue(answer.text)} is passed off as a complete answer`)
  }
  const paid = countBillableAttempts(attempts)
  // A rescue may cost twice; after the answer had begun, or beyond what a rescue needs, nobody may be asked.
  if (paid > Math.max(1, ...step.paths.map(countBillableAttempts)))
    harms.push(`${paid} endpoints were asked that may all bill it (${describeAttempts(attempts)})`)
  return harms
}

function isComplete(ending: ExpectedEnding, { text, finish }: ParsedAnswer): boolean {
  if (text === FULL_TEXT && finish === 'stop') return true
  return ending.kind === 'served' && text === ending.text && finish === ending.finish
}

/** Attempts that may be billed: a success, or a request that was read and got no answer. */
function countBillableAttempts(attempts: readonly ProviderAttempt[]): number {
  return attempts.filter(([, status]) => status === 200 || status === 0).length
}

// ── Outcome ─────────────────────────────────────────────────────────────────

function findWrongOutcomes(step: ScenarioStep, observation: CallObservation): string[] {
  const { response, answer, attempts, heldConnections } = observation
  const found = [...compareEnding(step.ending, observation)]
  if (matchingPaths(step, attempts).length === 0) {
    found.push(
      `the provider was asked ${describeAttempts(attempts) || 'nothing'} instead of ${step.paths.map((way) => describeAttempts(way)).join(' or ')}`,
    )
  }
  const { least, most } = step.ms
  if (response.endMs < least || response.endMs > most) {
    found.push(`it took ${Math.round(response.endMs)} ms instead of ${least} to ${most}`)
  }
  if (step.comments && observation.mode === 'streamed' && !(answer.commented && response.headMs < least)) {
    found.push(`no comment broke the silence before the first event, at ${Math.round(response.headMs)} ms`)
  }
  if (heldConnections > 0)
    found.push(`${heldConnections} connections to a provider that was given up stayed open`)
  return found
}

function compareEnding(
  ending: ExpectedEnding,
  { mode, response: { status, headers }, answer }: CallObservation,
): string[] {
  const faults = disagreements([['the status', status, ending.kind === 'refused' ? ending.status : 200]])
  if (status === 0) return faults
  if (!String(headers['x-generation-id'] ?? '').startsWith('gen-')) faults.push('there is no X-Generation-Id')
  const error = answer.error ?? {}
  const metadata = objectMember(error, 'metadata')
  const code = numberMember(error, 'code')
  const errorType = textMember(metadata, 'error_type')
  switch (ending.kind) {
    case 'served':
      return faults.concat(
        disagreements([
          ['the text', answer.text, ending.text],
          ['finish_reason', answer.finish, ending.finish],
        ]),
      )
    case 'broken':
      return faults.concat(
        disagreements([
          ['error.code', code, ending.code],
          ['error_type', errorType, ending.errorType],
          ['the text before the error', answer.text, ending.textSoFar],
        ]),
      )
    case 'refused': {
      const reason = textMember(metadata, 'raw')
      const when = headers['retry-after'] ?? ''
      const type = mode === 'streamed' ? headers['content-type']?.split(';')[0] : 'application/json'
      faults.push(
        ...disagreements([
          ['error.code', code, ending.status],
          ['error_type', errorType, ending.errorType],
          ['the provider’s reason', reason, ending.reason ?? reason],
        ]),
      )
      if (ending.retryAfter && !/^[1-9]\d*$/.test(when)) faults.push(`Retry-After is ${quoteValue(when)}`)
      return faults.concat(disagreements([['the type of the refusal', type, 'application/json']]))
    }
  }
}

export interface ScenarioResult {
  readonly scenario: Pick<DrillScenario, 'id' | 'name'>
  readonly mode: DeliveryMode
  readonly verdict: DrillVerdict
  /** Milliseconds that its calls took, all together. */
  readonly ms: number
  readonly complaints: readonly string[]
}

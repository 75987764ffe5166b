/** Holds what was seen of one call against what its scenario asks for. */

import { type CallObservation, describeAttempts, matchingPaths, quoteValue } from './call-observation.js'
import { findUntruths } from './find-untruths.js'
import type { GatewayResponse } from './gateway-client.js'
import { numberMember, objectMember, textMember } from './json-members.js'
import type { ParsedAnswer } from './parse-answer.js'
import { FULL_TEXT } from './provider-answers.js'
import type { DrillScenario, ExpectedEnding, ProviderAttempt, ScenarioStep } from './scenario.js'

/**
 * How bad it is. `harm`: callers are left waiting, misled or billed twice. `outcome`: not what the contract asks for,
 * but clean. `truth`: what is told about it, or written down, is not what happened.
 */
type ComplaintSeverity = 'harm' | 'outcome' | 'truth'

export interface Complaint {
  readonly severity: ComplaintSeverity
  /** A sentence with the figures that disagree. */
  readonly sentence: string
}

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
  if (answer.fault === null && looksComplete(response, answer) && !isComplete(step.ending, answer)) {
    harms.push(`${quoteValue(answer.text)} is passed off as a complete answer`)
  }
  const paid = countBillableAttempts(attempts)
  if (paid > 1)
    harms.push(`${paid} endpoints were asked that may all bill it (${describeAttempts(attempts)})`)
  return harms
}

function looksComplete({ status }: GatewayResponse, { error }: ParsedAnswer): boolean {
  return status === 200 && error === null
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

function compareEnding(ending: ExpectedEnding, { mode, response, answer }: CallObservation): string[] {
  const faults: string[] = []
  const due = (what: string, found: unknown, expected: unknown): void => {
    if (found !== expected) faults.push(`${what} is ${quoteValue(found)} instead of ${quoteValue(expected)}`)
  }
  due('the status', response.status, ending.kind === 'refused' ? ending.status : 200)
  if (response.status === 0) return faults
  if (!String(response.headers['x-generation-id'] ?? '').startsWith('gen-'))
    faults.push('there is no X-Generation-Id')
  if (ending.kind === 'served') {
    due('the text', answer.text, ending.text)
    due('finish_reason', answer.finish, ending.finish)
    return faults
  }
  const error = answer.error ?? {}
  due('error.code', numberMember(error, 'code'), ending.kind === 'refused' ? ending.status : ending.code)
  due('error_type', textMember(objectMember(error, 'metadata'), 'error_type'), ending.errorType)
  if (ending.kind === 'broken') due('the text before the error', answer.text, ending.textSoFar)
  else {
    if (ending.reason !== undefined)
      due('the provider’s reason', textMember(objectMember(error, 'metadata'), 'raw'), ending.reason)
    const when = response.headers['retry-after'] ?? ''
    if (ending.retryAfter && !/^[1-9]\d*$/.test(when)) faults.push(`Retry-After is ${quoteValue(when)}`)
    if (mode === 'streamed')
      due('the type of the refusal', response.headers['content-type']?.split(';')[0], 'application/json')
  }
  return faults
}

/** Whether what the gateway tells about a call, and what its ledger keeps of it, is what happened. */

import { type CallObservation, describeAttempts, matchingPaths, quoteValue } from './call-observation.js'
import { type JsonMembers, listMember, numberMember, objectMember, textMember } from './json-members.js'
import { ANSWER_USAGE } from './provider-answers.js'
import { type EndpointRole, ROLES } from './roles.js'
import { type DrillScenario, modelOfRole, type ProviderAttempt, type ScenarioStep } from './scenario.js'

/** Sentences about everything that is not true; at least one way was taken. */
export function findUntruths(
  scenario: DrillScenario,
  step: ScenarioStep,
  observation: CallObservation,
): readonly string[] {
  const told = new DiscrepancyList()
  const { metadata } = observation.answer
  if (metadata === null) told.add('there is no routing metadata, which was asked for')
  const way = reportedPath(step, observation)
  if (metadata !== null) checkMetadata(told, metadata, scenario, step, way, observation)
  if (step.ending.kind === 'served') checkServedAnswer(told, scenario, way.at(-1)![0], observation)
  if (observation.ledgerRow === null) told.add('the ledger has no row of it')
  else checkLedgerRow(told, observation.ledgerRow, scenario, step, way, observation)
  return told.sentences
}

class DiscrepancyList {
  readonly sentences: string[] = []

  add(text: string): void {
    this.sentences.push(text)
  }

  expectEqual(what: string, found: unknown, expected: unknown): void {
    if (!Object.is(found, expected))
      this.add(`${what} is ${quoteValue(found)} instead of ${quoteValue(expected)}`)
  }

  /** Money in dollars: equal to a nano-dollar. */
  expectMoney(what: string, found: number, expected: number): void {
    if (!(Math.abs(found - expected) < 5e-10)) this.add(`${what} is ${found} instead of ${expected}`)
  }
}

/** Of several ways that the provider cannot tell apart the one that the metadata tells. */
function reportedPath(step: ScenarioStep, { answer, attempts }: CallObservation): readonly ProviderAttempt[] {
  const ways = matchingPaths(step, attempts)
  const count = listMember(answer.metadata ?? {}, 'attempts').length
  return ways.find((way) => way.length === count) ?? ways[0]!
}

// ── Metadata (contract/gateway 3.4) ─────────────────────────────────────────

function checkMetadata(
  told: DiscrepancyList,
  metadata: JsonMembers,
  scenario: DrillScenario,
  { ending }: ScenarioStep,
  way: readonly ProviderAttempt[],
  { response }: CallObservation,
): void {
  const served = ending.kind === 'served' ? way.at(-1)![0] : null
  told.expectEqual('metadata.requested', textMember(metadata, 'requested'), scenario.models[0]!.id)
  told.expectEqual('metadata.attempt', numberMember(metadata, 'attempt'), served === null ? 0 : way.length)
  const attempts = listMember(metadata, 'attempts').map(
    (each) =>
      [`${textMember(each, 'provider')} ${textMember(each, 'model')}`, numberMember(each, 'status')] as const,
  )
  const due = way.map(
    ([role, status]) => [`${ROLES[role].name} ${modelOfRole(scenario, role)}`, status] as const,
  )
  told.expectEqual('metadata.attempts', describeAttempts(attempts), describeAttempts(due))
  const endpoints = objectMember(metadata, 'endpoints')
  const all = scenario.models.flatMap((model) => model.endpoints)
  told.expectEqual('metadata.endpoints.total', numberMember(endpoints, 'total'), all.length)
  const selected = listMember(endpoints, 'available').filter((each) => each.selected === true)
  told.expectEqual(
    'the selected endpoint',
    selected.map((each) => textMember(each, 'provider')).join(', '),
    served === null ? '' : ROLES[served].name,
  )
  const ms = numberMember(metadata, 'generation_time')
  if (!(ms >= 0 && ms <= response.endMs + 50)) {
    told.add(`generation_time is ${ms} ms of ${Math.round(response.endMs)} that the caller has waited`)
  }
}

// ── Answer ──────────────────────────────────────────────────────────────────

function checkServedAnswer(
  told: DiscrepancyList,
  scenario: DrillScenario,
  served: EndpointRole,
  { answer }: CallObservation,
): void {
  told.expectEqual('the model of the answer', answer.model, modelOfRole(scenario, served))
  told.expectEqual('the provider of the answer', answer.provider, ROLES[served].name)
  const usage = answer.usage ?? {}
  told.expectEqual('usage.prompt_tokens', numberMember(usage, 'prompt_tokens'), ANSWER_USAGE.prompt)
  told.expectEqual(
    'usage.completion_tokens',
    numberMember(usage, 'completion_tokens'),
    ANSWER_USAGE.completion,
  )
  told.expectMoney(
    'usage.cost',
    numberMember(usage, 'cost'),
    dollarCost(served, ANSWER_USAGE.prompt, ANSWER_USAGE.completion),
  )
}

function dollarCost(role: EndpointRole, prompt: number, completion: number): number {
  const { prices } = ROLES[role]
  return (prompt * prices.prompt + completion * prices.completion) / 1e6
}

// ── Ledger (contract/gateway 11.4) ──────────────────────────────────────────

function checkLedgerRow(
  told: DiscrepancyList,
  record: JsonMembers,
  scenario: DrillScenario,
  { ending }: ScenarioStep,
  way: readonly ProviderAttempt[],
  { mode }: CallObservation,
): void {
  told.expectEqual(
    'the ledger’s outcome',
    textMember(record, 'outcome'),
    ending.kind === 'served' ? 'settled' : 'failed',
  )
  told.expectEqual('the ledger’s attempts', numberMember(record, 'attempts'), way.length)
  told.expectEqual('the ledger’s streamed', record.streamed, mode === 'streamed')
  const cost = numberMember(record, 'total_cost')
  const prompt = numberMember(record, 'tokens_prompt')
  const completion = numberMember(record, 'tokens_completion')
  if (ending.kind === 'refused') {
    told.expectMoney('the cost of a call that was not answered', cost, 0)
    return
  }
  const served = way.at(-1)![0]
  told.expectEqual('the ledger’s provider', textMember(record, 'provider_name'), ROLES[served].name)
  told.expectEqual('the ledger’s model', textMember(record, 'model'), modelOfRole(scenario, served))
  const counted = ending.kind === 'served' || ending.counted
  told.expectEqual('the ledger’s estimated', record.estimated, !counted)
  if (counted) {
    told.expectEqual('the ledger’s prompt tokens', prompt, ANSWER_USAGE.prompt)
    told.expectEqual('the ledger’s completion tokens', completion, ANSWER_USAGE.completion)
  } else if (!(prompt > 0 && completion > 0 && completion < ANSWER_USAGE.completion)) {
    told.add(
      `the ledger has ${prompt} and ${completion} tokens for a part of an answer of ${ANSWER_USAGE.completion}`,
    )
  }
  told.expectMoney('the ledger’s cost', cost, dollarCost(served, prompt, completion))
}

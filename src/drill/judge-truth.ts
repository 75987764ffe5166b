/** Whether what the gateway tells about a call, and what its ledger keeps of it, is what happened. */
import { USAGE } from './answers.js'
import { type Observation, quoted, sentence, waysTaken } from './observation.js'
import { ROLES, type Role } from './roles.js'
import { type Attempt, modelServedBy, type Scenario, type Step } from './scenario.js'
import { listAt, type Members, numberAt, objectAt, textAt } from './shape.js'

/** Sentences about everything that is not true; at least one way was taken. */
export function truthOf(scenario: Scenario, step: Step, observation: Observation): readonly string[] {
  const told = new Discrepancies()
  const { metadata } = observation.answer
  if (metadata === null) told.add('there is no routing metadata, which was asked for')
  const way = wayTold(step, observation)
  if (metadata !== null) metadataTruth(told, metadata, scenario, step, way, observation)
  if (step.ending.kind === 'served') answerTruth(told, scenario, way.at(-1)![0], observation)
  if (observation.record === null) told.add('the ledger has no row of it')
  else ledgerTruth(told, observation.record, scenario, step, way, observation)
  return told.sentences
}

class Discrepancies {
  readonly sentences: string[] = []

  add(text: string): void {
    this.sentences.push(text)
  }

  due(what: string, found: unknown, expected: unknown): void {
    if (!Object.is(found, expected)) this.add(`${what} is ${quoted(found)} instead of ${quoted(expected)}`)
  }

  /** Money in dollars: equal to a nano-dollar. */
  dueMoney(what: string, found: number, expected: number): void {
    if (!(Math.abs(found - expected) < 5e-10)) this.add(`${what} is ${found} instead of ${expected}`)
  }
}

/** Of several ways that the provider cannot tell apart the one that the metadata tells. */
function wayTold(step: Step, { answer, seen }: Observation): readonly Attempt[] {
  const ways = waysTaken(step, seen)
  const count = listAt(answer.metadata ?? {}, 'attempts').length
  return ways.find((way) => way.length === count) ?? ways[0]!
}

// ── Metadata (contract/gateway 3.4) ─────────────────────────────────────────

function metadataTruth(
  told: Discrepancies,
  metadata: Members,
  scenario: Scenario,
  { ending }: Step,
  way: readonly Attempt[],
  { heard }: Observation,
): void {
  const served = ending.kind === 'served' ? way.at(-1)![0] : null
  told.due('metadata.requested', textAt(metadata, 'requested'), scenario.models[0]!.id)
  told.due('metadata.attempt', numberAt(metadata, 'attempt'), served === null ? 0 : way.length)
  const attempts = listAt(metadata, 'attempts').map(
    (each) => [`${textAt(each, 'provider')} ${textAt(each, 'model')}`, numberAt(each, 'status')] as const,
  )
  const due = way.map(
    ([role, status]) => [`${ROLES[role].name} ${modelServedBy(scenario, role)}`, status] as const,
  )
  told.due('metadata.attempts', sentence(attempts), sentence(due))
  const endpoints = objectAt(metadata, 'endpoints')
  const all = scenario.models.flatMap((model) => model.endpoints)
  told.due('metadata.endpoints.total', numberAt(endpoints, 'total'), all.length)
  const selected = listAt(endpoints, 'available').filter((each) => each.selected === true)
  told.due(
    'the selected endpoint',
    selected.map((each) => textAt(each, 'provider')).join(', '),
    served === null ? '' : ROLES[served].name,
  )
  const ms = numberAt(metadata, 'generation_time')
  if (!(ms >= 0 && ms <= heard.endMs + 50)) {
    told.add(`generation_time is ${ms} ms of ${Math.round(heard.endMs)} that the caller has waited`)
  }
}

// ── Answer ──────────────────────────────────────────────────────────────────

function answerTruth(told: Discrepancies, scenario: Scenario, served: Role, { answer }: Observation): void {
  told.due('the model of the answer', answer.model, modelServedBy(scenario, served))
  told.due('the provider of the answer', answer.provider, ROLES[served].name)
  const usage = answer.usage ?? {}
  told.due('usage.prompt_tokens', numberAt(usage, 'prompt_tokens'), USAGE.prompt)
  told.due('usage.completion_tokens', numberAt(usage, 'completion_tokens'), USAGE.completion)
  told.dueMoney('usage.cost', numberAt(usage, 'cost'), costOf(served, USAGE.prompt, USAGE.completion))
}

function costOf(role: Role, prompt: number, completion: number): number {
  const { prices } = ROLES[role]
  return (prompt * prices.prompt + completion * prices.completion) / 1e6
}

// ── Ledger (contract/gateway 11.4) ──────────────────────────────────────────

function ledgerTruth(
  told: Discrepancies,
  record: Members,
  scenario: Scenario,
  { ending }: Step,
  way: readonly Attempt[],
  { mode }: Observation,
): void {
  told.due('the ledger’s outcome', textAt(record, 'outcome'), ending.kind === 'served' ? 'settled' : 'failed')
  told.due('the ledger’s attempts', numberAt(record, 'attempts'), way.length)
  told.due('the ledger’s streamed', record.streamed, mode === 'streamed')
  const cost = numberAt(record, 'total_cost')
  const prompt = numberAt(record, 'tokens_prompt')
  const completion = numberAt(record, 'tokens_completion')
  if (ending.kind === 'refused') {
    told.dueMoney('the cost of a call that was not answered', cost, 0)
    return
  }
  const served = way.at(-1)![0]
  told.due('the ledger’s provider', textAt(record, 'provider_name'), ROLES[served].name)
  told.due('the ledger’s model', textAt(record, 'model'), modelServedBy(scenario, served))
  const counted = ending.kind === 'served' || ending.counted
  told.due('the ledger’s estimated', record.estimated, !counted)
  if (counted) {
    told.due('the ledger’s prompt tokens', prompt, USAGE.prompt)
    told.due('the ledger’s completion tokens', completion, USAGE.completion)
  } else if (!(prompt > 0 && completion > 0 && completion < USAGE.completion)) {
    told.add(
      `the ledger has ${prompt} and ${completion} tokens for a part of an answer of ${USAGE.completion}`,
    )
  }
  told.dueMoney('the ledger’s cost', cost, costOf(served, prompt, completion))
}

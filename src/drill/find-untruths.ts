/** Whether what the gateway tells about a call, and what its ledger keeps of it, is what happened. */
import { ANSWER_USAGE } from './behaviours.js'
import { type JsonMembers, listMember, numberMember, objectMember, textMember } from './parse-answer.js'
import { type EndpointRole, ROLES } from './roles.js'
import {
  type CallObservation,
  type DrillScenario,
  describeAttempts,
  disagreements,
  type ExpectedEnding,
  matchingPaths,
  modelOfRole,
  type ProviderAttempt,
  type ScenarioStep,
} from './scenario.js'

/** What is known of a call that went as it should. */
interface KnownCall {
  readonly scenario: DrillScenario
  readonly ending: ExpectedEnding
  readonly path: readonly ProviderAttempt[]
  /** The endpoint that answered, or began to. */
  readonly last: EndpointRole
}

/** Sentences about everything that is not true; at least one path was taken. */
export function findUntruths(
  scenario: DrillScenario,
  step: ScenarioStep,
  observation: CallObservation,
): readonly string[] {
  const { answer, ledgerRow } = observation
  const path = reportedPath(step, observation)
  const call: KnownCall = { scenario, ending: step.ending, path, last: path.at(-1)![0] }
  return [
    ...(answer.metadata === null
      ? ['there is no routing metadata, which was asked for']
      : metadataUntruths(answer.metadata, call, observation)),
    ...(step.ending.kind === 'served' ? answerUntruths(call, observation) : []),
    ...(ledgerRow === null ? ['the ledger has no row of it'] : ledgerUntruths(ledgerRow, call, observation)),
  ]
}

/** Of several paths that the provider cannot tell apart the one that the metadata tells. */
function reportedPath(step: ScenarioStep, { answer, attempts }: CallObservation): readonly ProviderAttempt[] {
  const paths = matchingPaths(step, attempts)
  const count = listMember(answer.metadata ?? {}, 'attempts').length
  return paths.find((path) => path.length === count) ?? paths[0]!
}

/** What contract/gateway 3.4 says of routing metadata. */
function metadataUntruths(
  metadata: JsonMembers,
  { scenario, ending, path, last }: KnownCall,
  { response }: CallObservation,
): string[] {
  const served = ending.kind === 'served'
  const attempts = listMember(metadata, 'attempts').map(
    (each) =>
      [`${textMember(each, 'provider')} ${textMember(each, 'model')}`, numberMember(each, 'status')] as const,
  )
  const due = path.map(
    ([role, status]) => [`${ROLES[role].name} ${modelOfRole(scenario, role)}`, status] as const,
  )
  const endpoints = objectMember(metadata, 'endpoints')
  const selected = listMember(endpoints, 'available')
    .filter((each) => each.selected === true)
    .map((each) => textMember(each, 'provider'))
  const ms = numberMember(metadata, 'generation_time')
  const tooLong = !(ms >= 0 && ms <= response.endMs + 50)
  return [
    ...disagreements([
      ['metadata.requested', textMember(metadata, 'requested'), scenario.models[0]!.id],
      ['metadata.attempt', numberMember(metadata, 'attempt'), served ? path.length : 0],
      ['metadata.attempts', describeAttempts(attempts), describeAttempts(due)],
      [
        'metadata.endpoints.total',
        numberMember(endpoints, 'total'),
        scenario.models.flatMap((model) => model.endpoints).length,
      ],
      ['the selected endpoint', selected.join(', '), served ? ROLES[last].name : ''],
    ]),
    ...(tooLong
      ? [`generation_time is ${ms} ms of ${Math.round(response.endMs)} that the caller has waited`]
      : []),
  ]
}

function answerUntruths({ scenario, last }: KnownCall, { answer }: CallObservation): string[] {
  const usage = answer.usage ?? {}
  const { prompt, completion } = ANSWER_USAGE
  return [
    ...disagreements([
      ['the model of the answer', answer.model, modelOfRole(scenario, last)],
      ['the provider of the answer', answer.provider, ROLES[last].name],
      ['usage.prompt_tokens', numberMember(usage, 'prompt_tokens'), prompt],
      ['usage.completion_tokens', numberMember(usage, 'completion_tokens'), completion],
    ]),
    ...costUntruth('usage.cost', numberMember(usage, 'cost'), dollarCost(last, prompt, completion)),
  ]
}

/** What contract/gateway 11.4 says of the row of a generation. */
function ledgerUntruths(
  row: JsonMembers,
  { scenario, ending, path, last }: KnownCall,
  { mode }: CallObservation,
): string[] {
  const cost = numberMember(row, 'total_cost')
  const prompt = numberMember(row, 'tokens_prompt')
  const completion = numberMember(row, 'tokens_completion')
  const untruths = disagreements([
    ['the ledger’s outcome', textMember(row, 'outcome'), ending.kind === 'served' ? 'settled' : 'failed'],
    ['the ledger’s attempts', numberMember(row, 'attempts'), path.length],
    ['the ledger’s streamed', row.streamed, mode === 'streamed'],
  ])
  untruths.push(...lostAttemptUntruths(row, { ending, path }))
  if (ending.kind === 'refused') {
    return [...untruths, ...costUntruth('the cost of a call that was not answered', cost, 0)]
  }
  const counted = ending.kind === 'served' || ending.counted
  const plausible = prompt > 0 && completion > 0 && completion < ANSWER_USAGE.completion
  return [
    ...untruths,
    ...disagreements([
      ['the ledger’s provider', textMember(row, 'provider_name'), ROLES[last].name],
      ['the ledger’s model', textMember(row, 'model'), modelOfRole(scenario, last)],
      ['the ledger’s estimated', row.estimated, !counted],
      ['the ledger’s prompt tokens', prompt, counted ? ANSWER_USAGE.prompt : prompt],
      ['the ledger’s completion tokens', completion, counted ? ANSWER_USAGE.completion : completion],
    ]),
    ...(counted || plausible
      ? []
      : [
          `the ledger has ${prompt} and ${completion} tokens for a part of an answer of ${ANSWER_USAGE.completion}`,
        ]),
    ...costUntruth('the ledger’s cost', cost, dollarCost(last, prompt, completion)),
  ]
}

/** Each attempt that got no answer although it may be billed has to be told, with a cost that nobody was charged. */
function lostAttemptUntruths(
  row: JsonMembers,
  { ending, path }: Pick<KnownCall, 'ending' | 'path'>,
): string[] {
  const tried = ending.kind === 'refused' ? path : path.slice(0, -1)
  const due = tried.filter(([role, status]) => role !== 'dead' && (status === 0 || status === 200))
  // What a provider has counted before it turned a call away is told as well, with its own figures.
  const told = listMember(row, 'lost_attempts').filter((each) => each.upstream_cost_basis === 'estimated')
  const costs = told.every((each) => numberMember(each, 'upstream_cost') > 0)
  const free = told.every((each) => numberMember(each, 'charged') === 0)
  return disagreements([
    [
      'the ledger’s lost attempts',
      describeAttempts(told.map((each) => [textMember(each, 'provider_name'), numberMember(each, 'status')])),
      describeAttempts(due.map(([role, status]) => [ROLES[role].name, status])),
    ],
    ['that lost attempts may cost something', costs, true],
    ['that nobody is charged for them', free, true],
  ])
}

function dollarCost(role: EndpointRole, prompt: number, completion: number): number {
  const { prices } = ROLES[role]
  return (prompt * prices.prompt + completion * prices.completion) / 1e6
}

/** Money in dollars: equal to a nano-dollar. */
function costUntruth(what: string, found: number, expected: number): string[] {
  return Math.abs(found - expected) < 5e-10 ? [] : [`${what} is ${found} instead of ${expected}`]
}

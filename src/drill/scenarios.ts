/** The sixteen scenarios, as data. Their ids stay what they are; results of two drills can be compared by them. */

import {
  answerAfter,
  answerAndFinish,
  answerFully,
  closeMidway,
  countTokensThenRefuse,
  FILTERED_TEXT,
  FULL_TEXT,
  HALF_TEXT,
  neverAnswer,
  omitTerminator,
  refuse,
  resetConnection,
  sendMalformedJson,
  stallMidway,
} from './behaviours.js'
import { type EndpointRole, PATIENCE_MS } from './roles.js'
import type {
  BrokenEnding,
  DeliveryMode,
  DrillModel,
  DrillScenario,
  ExpectedEnding,
  ProviderAttempt,
  RefusedEnding,
  ScenarioStep,
  ServedEnding,
} from './scenario.js'

/** An attempt as the tables below tell it: whom, and the status it came to. */
type AttemptText = `${EndpointRole} ${number}`

/** Room for a machine that has other things to do. */
const SLACK_MS = 2_500
const SOON = { least: 0, most: SLACK_MS }
/** Timers of the gateway may fire 100 ms late, never early. */
const GIVEN_UP = { least: PATIENCE_MS - 50, most: PATIENCE_MS + SLACK_MS }
/** Longer than the silence after which a load balancer would be told that the gateway lives. */
const LATE_MS = 17_000

const SERVED_ENDING: ServedEnding = { kind: 'served', text: FULL_TEXT, finish: 'stop' }
const FAILED_ENDING = refused(502, 'provider_unavailable')
const TIMEOUT_ENDING = refused(524, 'timeout')
const BROKEN_ENDING: BrokenEnding = {
  kind: 'broken',
  code: 502,
  errorType: 'provider_unavailable',
  textSoFar: HALF_TEXT,
  counted: false,
}

function refused(
  status: number,
  errorType: string,
  more: Pick<RefusedEnding, 'reason' | 'retryAfter'> = {},
): RefusedEnding {
  return { kind: 'refused', status, errorType, ...more }
}

/** A step that may take any of these paths. */
function expectOneOf(
  paths: readonly (readonly AttemptText[])[],
  ending: ExpectedEnding = SERVED_ENDING,
  ms: ScenarioStep['ms'] = SOON,
): ScenarioStep {
  const attemptOf = (text: AttemptText): ProviderAttempt => {
    const [role, status] = text.split(' ')
    return [role as EndpointRole, Number(status)]
  }
  return { paths: paths.map((path) => path.map(attemptOf)), ending, ms }
}

function expectAttempts(
  attempts: readonly AttemptText[],
  ending?: ExpectedEnding,
  ms?: ScenarioStep['ms'],
): ScenarioStep {
  return expectOneOf([attempts], ending, ms)
}

/** The provider falls silent, so the gateway has to close the connection when it gives the provider up. */
function expectGivenUp(attempts: readonly AttemptText[], ending: ExpectedEnding): ScenarioStep {
  return { ...expectAttempts(attempts, ending, GIVEN_UP), closesConnection: true }
}

/** The same in both modes. */
function inBothModes(...steps: readonly ScenarioStep[]): Record<DeliveryMode, readonly ScenarioStep[]> {
  return { whole: steps, streamed: steps }
}

function wholeOrStreamed(
  whole: ScenarioStep,
  streamed: ScenarioStep,
): Record<DeliveryMode, readonly ScenarioStep[]> {
  return { whole: [whole], streamed: [streamed] }
}

function drillModel(id: string, ...endpoints: readonly EndpointRole[]): DrillModel {
  return { id: `drill/${id}`, endpoints }
}

/** A first endpoint that has begun to answer and fails: no other may be asked, for it may be paid already. */
const ONLY_FIRST: readonly AttemptText[] = ['first 200']

const FAILED_OR_BROKEN = wholeOrStreamed(
  expectAttempts(ONLY_FIRST, FAILED_ENDING),
  expectAttempts(ONLY_FIRST, BROKEN_ENDING),
)

const ALL_DOWN: readonly AttemptText[] = ['first 500', 'dead 0', 'second 503']

const WRONG = 'temperature must not exceed 2'
const FILTER = 'rejected by our content policy'

export const SCENARIOS: readonly DrillScenario[] = [
  {
    id: 'S01',
    name: '429 with Retry-After: 2',
    about: 'the only endpoint asks for two seconds; it gets them, and then serves',
    models: [drillModel('s01', 'first')],
    behaviours: { first: [refuse(429, { message: 'later' }, { 'retry-after': '2' }), answerFully] },
    steps: inBothModes(
      expectAttempts(['first 429', 'first 200'], SERVED_ENDING, { least: 2_000, most: 2_000 + SLACK_MS }),
    ),
  },
  {
    id: 'S02',
    name: '429, 500, 503, 529',
    about:
      'the first endpoint turns four calls away, each with another status; the second serves all at once',
    models: [drillModel('s02', 'first', 'second')],
    behaviours: { first: [429, 500, 503, 529].map((status) => refuse(status)), second: [answerFully] },
    steps: inBothModes(
      ...[429, 500, 503, 529].map((status) => expectAttempts([`first ${status}`, 'second 200'])),
    ),
  },
  {
    id: 'S03',
    name: 'connection refused',
    about: 'nobody listens at the first endpoint; the second serves',
    models: [drillModel('s03', 'dead', 'second')],
    behaviours: { second: [answerFully] },
    steps: inBothModes(expectAttempts(['dead 0', 'second 200'])),
  },
  {
    id: 'S04',
    name: 'reset before the head',
    about: 'the request was read and may be billed: a clean 502, and nobody else is asked',
    models: [drillModel('s04', 'first', 'second')],
    behaviours: { first: [resetConnection], second: [answerFully] },
    steps: inBothModes(expectAttempts(['first 0'], FAILED_ENDING)),
  },
  {
    id: 'S05',
    name: 'never answers',
    about: 'the request is read and nothing comes: a 524 in time, and nobody else is asked',
    models: [drillModel('s05', 'first', 'second')],
    behaviours: { first: [neverAnswer], second: [answerFully] },
    steps: inBothModes(expectGivenUp(['first 0'], TIMEOUT_ENDING)),
  },
  {
    id: 'S06',
    name: 'first token after 17 s',
    about: 'within what is configured: comments keep the stream alive, then all of the answer comes',
    models: [drillModel('s06', 'patient')],
    behaviours: { patient: [answerAfter(LATE_MS)] },
    steps: inBothModes({
      ...expectAttempts(['patient 200'], SERVED_ENDING, { least: LATE_MS - 50, most: LATE_MS + SLACK_MS }),
      comments: true,
    }),
  },
  {
    id: 'S07',
    name: 'cut in the middle',
    about: 'the connection closes midway: an error instead of a truncated answer, what came is billed',
    models: [drillModel('s07', 'first', 'second')],
    behaviours: { first: [closeMidway], second: [answerFully] },
    steps: FAILED_OR_BROKEN,
  },
  {
    id: 'S08',
    name: 'stall in the middle',
    about: 'the connection stays and nothing more comes: an error in time, what came is billed',
    models: [drillModel('s08', 'first', 'second')],
    behaviours: { first: [stallMidway], second: [answerFully] },
    steps: wholeOrStreamed(
      expectGivenUp(ONLY_FIRST, TIMEOUT_ENDING),
      expectGivenUp(ONLY_FIRST, { ...BROKEN_ENDING, code: 524, errorType: 'timeout' }),
    ),
  },
  {
    id: 'S09',
    name: 'malformed body or event',
    about: 'what should be JSON is none: an error, and never a part that looks like a whole',
    models: [drillModel('s09', 'first', 'second')],
    behaviours: { first: [sendMalformedJson], second: [answerFully] },
    steps: FAILED_OR_BROKEN,
  },
  {
    id: 'S10',
    name: 'missing terminator',
    about: 'all is said but the end: it may not be passed off as complete; the provider’s count is billed',
    models: [drillModel('s10', 'first', 'second')],
    behaviours: { first: [omitTerminator], second: [answerFully] },
    steps: wholeOrStreamed(
      expectAttempts(ONLY_FIRST, FAILED_ENDING),
      expectAttempts(ONLY_FIRST, { ...BROKEN_ENDING, textSoFar: FULL_TEXT, counted: true }),
    ),
  },
  {
    id: 'S11',
    name: 'content-filter refusal',
    about: 'refused with a 400, then with a finish reason: told as it is, and not routed around',
    models: [drillModel('s11', 'first', 'second')],
    behaviours: {
      first: [
        refuse(400, { message: FILTER, code: 'content_policy_violation' }),
        answerAndFinish(FILTERED_TEXT, 'content_filter'),
      ],
      second: [answerFully],
    },
    steps: inBothModes(
      expectAttempts(['first 400'], refused(400, 'content_policy_violation', { reason: FILTER })),
      expectAttempts(['first 200'], { kind: 'served', text: FILTERED_TEXT, finish: 'content_filter' }),
    ),
  },
  {
    id: 'S12',
    name: 'context too long',
    about: 'the prompt outgrew the model: one of the same size is not asked, the larger one serves',
    models: [
      { ...drillModel('s12-small', 'first'), contextLength: 4_096 },
      { ...drillModel('s12-equal', 'second'), contextLength: 4_096 },
      { ...drillModel('s12-large', 'third'), contextLength: 65_536 },
    ],
    behaviours: {
      first: [refuse(400, { message: 'the prompt is too long', code: 'context_length_exceeded' })],
      second: [answerFully],
      third: [answerFully],
    },
    steps: inBothModes(expectAttempts(['first 400', 'third 200'])),
  },
  {
    id: 'S13',
    name: 'the caller’s own 400',
    about: 'six in a row are told with the provider’s reason, not retried, and do not open the breaker',
    models: [drillModel('s13', 'guarded', 'second')],
    behaviours: {
      guarded: [...Array.from({ length: 6 }, () => refuse(400, { message: WRONG })), answerFully],
      second: [answerFully],
    },
    steps: inBothModes(
      ...Array.from({ length: 6 }, () =>
        expectAttempts(['guarded 400'], refused(400, 'invalid_request', { reason: WRONG })),
      ),
      expectAttempts(['guarded 200']),
    ),
  },
  {
    id: 'S14',
    name: 'all endpoints down',
    about: '500, nobody there, 503: the last failure is told, when to come again, and every attempt',
    models: [drillModel('s14', 'first', 'dead', 'second')],
    behaviours: { first: [refuse(500)], second: [refuse(503)] },
    steps: inBothModes(
      expectOneOf(
        [1, 2, 3].map((rounds) => Array.from({ length: rounds }, () => ALL_DOWN).flat()),
        refused(503, 'provider_overloaded', { retryAfter: true }),
        { least: 0, most: 4_000 + SLACK_MS },
      ),
    ),
  },
  {
    id: 'S15',
    name: 'flapping endpoint',
    about: 'every other call of the first endpoint fails; callers notice nothing',
    models: [drillModel('s15', 'guarded', 'second')],
    behaviours: { guarded: [refuse(500), answerFully], second: [answerFully] },
    steps: inBothModes(
      // The last path is that of a breaker that has had enough.
      ...Array.from({ length: 8 }, () =>
        expectOneOf([['guarded 200'], ['guarded 500', 'second 200'], ['second 200']]),
      ),
    ),
  },
  {
    id: 'S16',
    name: 'truth about who served',
    about: 'two failures, one after it had counted tokens, then a dearer model: it alone is named and billed',
    models: [drillModel('s16', 'first', 'second'), drillModel('s16-other', 'third')],
    behaviours: { first: [refuse(500)], second: [countTokensThenRefuse], third: [answerFully] },
    steps: inBothModes(expectAttempts(['first 500', 'second 429', 'third 200'])),
  },
]

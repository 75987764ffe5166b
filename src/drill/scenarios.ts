/** The sixteen scenarios, as data. Their ids stay what they are; results of two drills can be compared by them. */

import {
  answerAfter,
  answerAndFinish,
  answerFully,
  closeBeforeContent,
  closeMidway,
  countTokensThenRefuse,
  FILTERED_TEXT,
  FULL_TEXT,
  HALF_TEXT,
  neverAnswer,
  omitTerminator,
  refuse,
  resetConnection,
  sendMalformedFirst,
  sendMalformedJson,
  stallBeforeContent,
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
function expectGivenUp(
  attempts: readonly AttemptText[],
  ending = SERVED_ENDING as ExpectedEnding,
): ScenarioStep {
  return { ...expectAttempts(attempts, ending, GIVEN_UP), closesConnection: true }
}

/** The same in both modes. */
function inBothModes(...steps: readonly ScenarioStep[]): Record<DeliveryMode, readonly ScenarioStep[]> {
  return { whole: steps, streamed: steps }
}

/**
 * Two calls that fail at the first endpoint, each in its way. A whole answer is rescued both times; of a stream the
 * first has begun to speak, so that it ends with an error, and the second has not.
 */
function rescuedUntilContent(
  broken: Partial<BrokenEnding>,
  rescued: ScenarioStep,
  ms?: ScenarioStep['ms'],
): Record<DeliveryMode, readonly ScenarioStep[]> {
  const { closesConnection } = rescued
  const ended = expectAttempts(['first 200'], { ...BROKEN_ENDING, ...broken }, ms)
  return {
    whole: [rescued, rescued],
    streamed: [{ ...ended, ...(closesConnection && { closesConnection }) }, rescued],
  }
}

function drillModel(id: string, ...endpoints: readonly EndpointRole[]): DrillModel {
  return { id: `drill/${id}`, endpoints }
}

/** The first endpoint has begun with a success and came to nothing; the second serves. */
const AFTER_200: readonly AttemptText[] = ['first 200', 'second 200']

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
    about: 'the request was read and got no answer: the second serves, and the ledger tells what was lost',
    models: [drillModel('s04', 'first', 'second')],
    behaviours: { first: [resetConnection], second: [answerFully] },
    steps: inBothModes(expectAttempts(['first 0', 'second 200'])),
  },
  {
    id: 'S05',
    name: 'never answers',
    about: 'the request is read and nothing comes: given up in time, and the second serves',
    models: [drillModel('s05', 'first', 'second')],
    behaviours: { first: [neverAnswer], second: [answerFully] },
    steps: inBothModes(expectGivenUp(['first 0', 'second 200'])),
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
    about:
      'the connection closes midway: rescued; once a stream has spoken, an error, and what came is billed',
    models: [drillModel('s07', 'first', 'second')],
    behaviours: { first: [closeMidway, closeBeforeContent], second: [answerFully] },
    steps: rescuedUntilContent({}, expectAttempts(AFTER_200)),
  },
  {
    id: 'S08',
    name: 'stall in the middle',
    about: 'nothing more comes: rescued in time; once a stream has spoken, an error, and what came is billed',
    models: [drillModel('s08', 'first', 'second')],
    behaviours: { first: [stallMidway, stallBeforeContent], second: [answerFully] },
    steps: rescuedUntilContent({ code: 524, errorType: 'timeout' }, expectGivenUp(AFTER_200), GIVEN_UP),
  },
  {
    id: 'S09',
    name: 'malformed body or event',
    about:
      'what should be JSON is none: rescued; once a stream has spoken, an error, and no part looks whole',
    models: [drillModel('s09', 'first', 'second')],
    behaviours: { first: [sendMalformedJson, sendMalformedFirst], second: [answerFully] },
    steps: rescuedUntilContent({}, expectAttempts(AFTER_200)),
  },
  {
    id: 'S10',
    name: 'missing terminator',
    about:
      'all is said but the end: rescued; a stream is not passed off as complete, and is billed as counted',
    models: [drillModel('s10', 'first', 'second')],
    behaviours: { first: [omitTerminator, closeBeforeContent], second: [answerFully] },
    steps: rescuedUntilContent({ textSoFar: FULL_TEXT, counted: true }, expectAttempts(AFTER_200)),
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

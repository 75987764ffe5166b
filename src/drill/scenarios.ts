/** The sixteen scenarios, as data. Their ids stay what they are; results of two drills can be compared by them. */
import { FILTERED, HALF, TEXT } from './answers.js'
import {
  countsAndRefuses,
  cutsMidway,
  ends,
  forgetsTheEnd,
  garbles,
  refuses,
  resets,
  serves,
  servesAfter,
  stallsMidway,
  staysSilent,
} from './behaviours.js'
import { PATIENCE_MS, type Role } from './roles.js'
import type {
  Attempt,
  Broken,
  DrillModel,
  Ending,
  Mode,
  Refused,
  Scenario,
  Served,
  Step,
} from './scenario.js'

/** Room for a machine that has other things to do. */
const SLACK_MS = 2_500
const SOON = { least: 0, most: SLACK_MS }
/** Timers of the gateway may fire 100 ms late, never early. */
const GIVEN_UP = { least: PATIENCE_MS - 50, most: PATIENCE_MS + SLACK_MS }
/** Longer than the silence after which a load balancer would be told that the gateway lives. */
const LATE_MS = 17_000

const SERVED: Served = { kind: 'served', text: TEXT, finish: 'stop' }
const FAILED: Refused = { kind: 'refused', status: 502, errorType: 'provider_unavailable' }
const SILENT: Refused = { kind: 'refused', status: 524, errorType: 'timeout' }
const BROKEN: Broken = {
  kind: 'broken',
  code: 502,
  errorType: 'provider_unavailable',
  said: HALF,
  counted: false,
}

function step(attempts: readonly Attempt[], ending: Ending, ms: Step['ms'] = SOON): Step {
  return { ways: [attempts], ending, ms }
}

/** The same in both modes. */
function both(...steps: readonly Step[]): Record<Mode, readonly Step[]> {
  return { whole: steps, streamed: steps }
}

function either(whole: Step, streamed: Step): Record<Mode, readonly Step[]> {
  return { whole: [whole], streamed: [streamed] }
}

function model(id: string, ...endpoints: readonly Role[]): DrillModel {
  return { id: `drill/${id}`, endpoints }
}

/** A first endpoint that has begun to answer and fails: nobody else may be asked, for it may be paid already. */
const ONLY_FIRST: readonly Attempt[] = [['first', 200]]

const ALL_DOWN: readonly Attempt[] = [
  ['first', 500],
  ['dead', 0],
  ['second', 503],
]

const WRONG = 'temperature must not exceed 2'
const FILTER = 'rejected by our content policy'

export const SCENARIOS: readonly Scenario[] = [
  {
    id: 'S01',
    name: '429 with Retry-After: 2',
    about: 'the only endpoint asks for two seconds; it gets them, and then serves',
    models: [model('s01', 'first')],
    plays: { first: [refuses(429, { message: 'later' }, { 'retry-after': '2' }), serves] },
    steps: both(
      step(
        [
          ['first', 429],
          ['first', 200],
        ],
        SERVED,
        { least: 2_000, most: 2_000 + SLACK_MS },
      ),
    ),
  },
  {
    id: 'S02',
    name: '429, 500, 503, 529',
    about:
      'the first endpoint turns four calls away, each with another status; the second serves all at once',
    models: [model('s02', 'first', 'second')],
    plays: { first: [429, 500, 503, 529].map((status) => refuses(status)), second: [serves] },
    steps: both(
      ...[429, 500, 503, 529].map((status) =>
        step(
          [
            ['first', status],
            ['second', 200],
          ],
          SERVED,
        ),
      ),
    ),
  },
  {
    id: 'S03',
    name: 'connection refused',
    about: 'nobody listens at the first endpoint; the second serves',
    models: [model('s03', 'dead', 'second')],
    plays: { second: [serves] },
    steps: both(
      step(
        [
          ['dead', 0],
          ['second', 200],
        ],
        SERVED,
      ),
    ),
  },
  {
    id: 'S04',
    name: 'reset before the head',
    about: 'the request was read and may be billed: a clean 502, and nobody else is asked',
    models: [model('s04', 'first', 'second')],
    plays: { first: [resets], second: [serves] },
    steps: both(step([['first', 0]], FAILED)),
  },
  {
    id: 'S05',
    name: 'never answers',
    about: 'the request is read and nothing comes: a 524 in time, and nobody else is asked',
    models: [model('s05', 'first', 'second')],
    plays: { first: [staysSilent], second: [serves] },
    steps: both({ ...step([['first', 0]], SILENT, GIVEN_UP), letsGo: true }),
  },
  {
    id: 'S06',
    name: 'first token after 17 s',
    about: 'within what is configured: comments keep the stream alive, then all of the answer comes',
    models: [model('s06', 'patient')],
    plays: { patient: [servesAfter(LATE_MS)] },
    steps: both({
      ...step([['patient', 200]], SERVED, { least: LATE_MS - 50, most: LATE_MS + SLACK_MS }),
      comments: true,
    }),
  },
  {
    id: 'S07',
    name: 'cut in the middle',
    about: 'the connection closes midway: an error instead of a truncated answer, what came is billed',
    models: [model('s07', 'first', 'second')],
    plays: { first: [cutsMidway], second: [serves] },
    steps: either(step(ONLY_FIRST, FAILED), step(ONLY_FIRST, BROKEN)),
  },
  {
    id: 'S08',
    name: 'stall in the middle',
    about: 'the connection stays and nothing more comes: an error in time, what came is billed',
    models: [model('s08', 'first', 'second')],
    plays: { first: [stallsMidway], second: [serves] },
    steps: either(
      { ...step(ONLY_FIRST, SILENT, GIVEN_UP), letsGo: true },
      { ...step(ONLY_FIRST, { ...BROKEN, code: 524, errorType: 'timeout' }, GIVEN_UP), letsGo: true },
    ),
  },
  {
    id: 'S09',
    name: 'malformed body or event',
    about: 'what should be JSON is none: an error, and never a part that looks like a whole',
    models: [model('s09', 'first', 'second')],
    plays: { first: [garbles], second: [serves] },
    steps: either(step(ONLY_FIRST, FAILED), step(ONLY_FIRST, BROKEN)),
  },
  {
    id: 'S10',
    name: 'missing terminator',
    about: 'all is said but the end: it may not be passed off as complete; the provider’s count is billed',
    models: [model('s10', 'first', 'second')],
    plays: { first: [forgetsTheEnd], second: [serves] },
    steps: either(step(ONLY_FIRST, FAILED), step(ONLY_FIRST, { ...BROKEN, said: TEXT, counted: true })),
  },
  {
    id: 'S11',
    name: 'content-filter refusal',
    about: 'refused with a 400, then with a finish reason: told as it is, and not routed around',
    models: [model('s11', 'first', 'second')],
    plays: {
      first: [
        refuses(400, { message: FILTER, code: 'content_policy_violation' }),
        ends(FILTERED, 'content_filter'),
      ],
      second: [serves],
    },
    steps: both(
      step([['first', 400]], {
        kind: 'refused',
        status: 400,
        errorType: 'content_policy_violation',
        reason: FILTER,
      }),
      step([['first', 200]], { kind: 'served', text: FILTERED, finish: 'content_filter' }),
    ),
  },
  {
    id: 'S12',
    name: 'context too long',
    about: 'the prompt outgrew the model: one of the same size is not asked, the larger one serves',
    models: [
      { ...model('s12-small', 'first'), contextLength: 4_096 },
      { ...model('s12-equal', 'second'), contextLength: 4_096 },
      { ...model('s12-large', 'third'), contextLength: 65_536 },
    ],
    plays: {
      first: [refuses(400, { message: 'the prompt is too long', code: 'context_length_exceeded' })],
      second: [serves],
      third: [serves],
    },
    steps: both(
      step(
        [
          ['first', 400],
          ['third', 200],
        ],
        SERVED,
      ),
    ),
  },
  {
    id: 'S13',
    name: 'the caller’s own 400',
    about: 'six in a row are told with the provider’s reason, not retried, and do not open the breaker',
    models: [model('s13', 'guarded', 'second')],
    plays: {
      guarded: [...Array.from({ length: 6 }, () => refuses(400, { message: WRONG })), serves],
      second: [serves],
    },
    steps: both(
      ...Array.from({ length: 6 }, () =>
        step([['guarded', 400]], {
          kind: 'refused',
          status: 400,
          errorType: 'invalid_request',
          reason: WRONG,
        }),
      ),
      step([['guarded', 200]], SERVED),
    ),
  },
  {
    id: 'S14',
    name: 'all endpoints down',
    about: '500, nobody there, 503: the last failure is told, when to come again, and every attempt',
    models: [model('s14', 'first', 'dead', 'second')],
    plays: { first: [refuses(500)], second: [refuses(503)] },
    steps: both({
      ways: [1, 2, 3].map((rounds) => Array.from({ length: rounds }, () => ALL_DOWN).flat()),
      ending: { kind: 'refused', status: 503, errorType: 'provider_overloaded', saysWhen: true },
      ms: { least: 0, most: 4_000 + SLACK_MS },
    }),
  },
  {
    id: 'S15',
    name: 'flapping endpoint',
    about: 'every other call of the first endpoint fails; callers notice nothing',
    models: [model('s15', 'guarded', 'second')],
    plays: { guarded: [refuses(500), serves], second: [serves] },
    steps: both(
      ...Array.from({ length: 8 }, () => ({
        ways: [
          [['guarded', 200]],
          [
            ['guarded', 500],
            ['second', 200],
          ],
          // Its breaker has had enough.
          [['second', 200]],
        ] satisfies Attempt[][],
        ending: SERVED,
        ms: SOON,
      })),
    ),
  },
  {
    id: 'S16',
    name: 'truth about who served',
    about: 'two failures, one after it had counted tokens, then a dearer model: it alone is named and billed',
    models: [model('s16', 'first', 'second'), model('s16-other', 'third')],
    plays: { first: [refuses(500)], second: [countsAndRefuses], third: [serves] },
    steps: both(
      step(
        [
          ['first', 500],
          ['second', 429],
          ['third', 200],
        ],
        SERVED,
      ),
    ),
  },
]

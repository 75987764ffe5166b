import type { Attack } from './attack.js'
import { connectionFlood } from './connection-flood.js'
import { countFlood } from './count-flood.js'
import { craftedSound } from './crafted-sound.js'
import { fillStorage } from './fill-storage.js'
import { halfSentBodies, largeHalfSentBodies } from './half-sent-bodies.js'
import { hashFlood } from './hash-flood.js'
import { denseJson, longEcho, manyMembers } from './heavy-requests.js'
import { issuerFlood } from './issuer-flood.js'
import { provokedFailures } from './provoked-failures.js'
import { sandboxExhaustion } from './sandbox-exhaustion.js'
import { sentAhead } from './sent-ahead.js'

/** Every attack, in the order of a run. docs/attacks.md says what each of them once did. */
export const ATTACKS: readonly Attack[] = [
  hashFlood,
  issuerFlood,
  craftedSound,
  provokedFailures,
  countFlood,
  denseJson,
  manyMembers,
  longEcho,
  sentAhead,
  connectionFlood,
  fillStorage,
  halfSentBodies,
  largeHalfSentBodies,
  sandboxExhaustion,
]

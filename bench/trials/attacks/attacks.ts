import type { Attack } from './attack.js'
import { craftedSound } from './crafted-sound.js'
import { hashFlood } from './hash-flood.js'
import { issuerFlood } from './issuer-flood.js'

/** Every attack, in the order of a run. docs/attacks.md says what each of them once did. */
export const ATTACKS: readonly Attack[] = [hashFlood, issuerFlood, craftedSound]

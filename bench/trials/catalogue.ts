import { attackTrial } from './attacks/attack-trial.js'
import { ATTACKS } from './attacks/attacks.js'
import { rawRequests } from './attacks/raw-requests/raw-requests.js'
import { consoleFeed } from './console/console-feed.js'
import { consoleScreens } from './console/console-screens.js'
import { directoryDeactivation } from './directory/directory-deactivation.js'
import { directoryKill } from './directory/directory-kill.js'
import { directorySync } from './directory/directory-sync.js'
import { federationBeside } from './federation/federation-beside.js'
import { federationColdIssuers } from './federation/federation-cold-issuers.js'
import { federationConditions } from './federation/federation-conditions.js'
import { federationFuzz } from './federation/federation-fuzz.js'
import { federationKids } from './federation/federation-kids.js'
import { federationRefusals } from './federation/federation-refusals.js'
import { federationRemovedKey } from './federation/federation-removed-key.js'
import { federationRotation } from './federation/federation-rotation.js'
import { federationStampede } from './federation/federation-stampede.js'
import { fleetBank } from './fleet/fleet-bank.js'
import { fleetCredits } from './fleet/fleet-credits.js'
import { fleetFrozenStore } from './fleet/fleet-frozen-store.js'
import { fleetKills } from './fleet/fleet-kills.js'
import { fleetOverhead } from './fleet/fleet-overhead.js'
import { fleetRevocation } from './fleet/fleet-revocation.js'
import { fleetStatements } from './fleet/fleet-statements.js'
import { ledgerIntake } from './fleet/ledger-intake.js'
import { allocation } from './gateway/allocation.js'
import { gatewayAgentConversation } from './gateway/gateway-agent-conversation.js'
import { gatewayArrivals } from './gateway/gateway-arrivals.js'
import { gatewayHedging } from './gateway/gateway-hedging.js'
import { gatewayKeyDisable } from './gateway/gateway-key-disable.js'
import { gatewayLeaving } from './gateway/gateway-leaving.js'
import { gatewayMemory } from './gateway/gateway-memory.js'
import { gatewayPaced } from './gateway/gateway-paced.js'
import { gatewaySlowReaders } from './gateway/gateway-slow-readers.js'
import { largeBodyStall } from './gateway/large-body-stall.js'
import { paceTape } from './gateway/pace-tape.js'
import { rateLimitWindow } from './gateway/rate-limit-window.js'
import { routingBreaker } from './gateway/routing-breaker.js'
import { routingKill } from './gateway/routing-kill.js'
import { routingSession } from './gateway/routing-session.js'
import { toolsLeaving } from './gateway/tools-leaving.js'
import { whatIf } from './gateway/what-if.js'
import { counters } from './process/counters.js'
import { healthUnderHash, healthUnderSearch } from './process/health-under-load.js'
import { idleCrowd } from './process/idle-crowd.js'
import { killGroup, killWorker } from './process/kills.js'
import { overload } from './process/overload.js'
import { report } from './process/report.js'
import { sigterm } from './process/sigterm.js'
import { start } from './process/start.js'
import { creditsExact } from './storage/credits-exact.js'
import { filesDownload } from './storage/files-download.js'
import { ledgerKill } from './storage/ledger-kill.js'
import { audioUpload, filesUpload } from './storage/uploads.js'
import type { Trial } from './trial.js'

/** The trials by their subject, in the order of a full run: `npm run trials -- <subject>` runs those of one. */
export const SUBJECTS: Readonly<Record<string, readonly Trial[]>> = {
  process: [
    killWorker,
    killGroup,
    sigterm,
    start,
    overload,
    report,
    idleCrowd,
    counters,
    healthUnderHash,
    healthUnderSearch,
  ],
  gateway: [
    allocation,
    gatewayPaced,
    gatewayLeaving,
    toolsLeaving,
    whatIf,
    gatewayMemory,
    gatewaySlowReaders,
    gatewayKeyDisable,
    gatewayAgentConversation,
    gatewayArrivals,
    gatewayHedging,
    largeBodyStall,
    paceTape,
    rateLimitWindow,
    routingBreaker,
    routingKill,
    routingSession,
  ],
  federation: [
    federationBeside,
    federationStampede,
    federationColdIssuers,
    federationKids,
    federationRotation,
    federationRemovedKey,
    federationRefusals,
    federationConditions,
    federationFuzz,
  ],
  directory: [directorySync, directoryKill, directoryDeactivation],
  storage: [filesDownload, filesUpload, audioUpload, creditsExact, ledgerKill],
  fleet: [
    fleetBank,
    fleetCredits,
    fleetKills,
    fleetRevocation,
    fleetStatements,
    fleetFrozenStore,
    fleetOverhead,
    ledgerIntake,
  ],
  console: [consoleFeed, consoleScreens],
  attacks: [...ATTACKS.map(attackTrial), rawRequests],
}

/** Every trial. */
export const CATALOGUE: readonly Trial[] = Object.values(SUBJECTS).flat()

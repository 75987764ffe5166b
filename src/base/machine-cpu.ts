/** CPU time of the whole machine. */
import { readFileSync } from 'node:fs'

/** USER_HZ is part of the kernel's interface and 100 on all our platforms. */
const MS_PER_TICK = 10

/**
 * CPU time all programs used so far on the whole machine, or on one core of it, stolen time included; null where there is
 * no /proc. Time in interrupts is left out: kernels differ in whether a process is charged for it.
 */
export function readMachineCpuMs(core: number | '' = ''): number | null {
  try {
    const line = new RegExp(`^cpu${core} +(.*)$`, 'm').exec(readFileSync('/proc/stat', 'latin1'))
    const [user = 0, nice = 0, system = 0, , , , , steal = 0] = line![1]!.split(' ').map(Number)
    return (user + nice + system + steal) * MS_PER_TICK
  } catch {
    return null
  }
}

/** The readings under the name by which `floor-loop` imports them: a floor is compared over versions, so its files stay. */

export { readMachineCpuMs } from '../../src/base/machine-cpu.js'
export { costBetween, readCost } from '../harness/machine/proc.js'

/** The readings under the name by which `floor-loop` imports them: a floor is compared over versions, so its files stay. */
export { costBetween, readCost, readMachineCpuMs } from '../harness/machine/proc.js'

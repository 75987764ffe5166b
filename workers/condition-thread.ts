import { checkCondition, evaluateCondition, explainCondition } from './cel/condition-tasks.js'
import { taskRunner } from './task-runner.js'

export default taskRunner({
  'check-condition': checkCondition,
  'evaluate-condition': evaluateCondition,
  'explain-condition': explainCondition,
})

import { judgeScreens } from './looks.js'

judgeScreens([2560])

import { judgeScreens } from './looks.js'

judgeScreens([360, 1280])

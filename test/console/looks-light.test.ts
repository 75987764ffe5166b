import { judgeScreens } from './looks.js'

judgeScreens('light')

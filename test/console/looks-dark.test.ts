import { judgeScreens } from './looks.js'

judgeScreens('dark')

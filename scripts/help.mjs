// `npm run help`: lists all commands by purpose.
import { COMMANDS, helpText } from './help/commands.mjs'

process.stdout.write(helpText(COMMANDS))

// `npm run check`: all checks that do not run the server.
import { checks, dependencyArrows, runChecks } from './checks/checks.mjs'
import { explainFailure } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'
import { summaryLine } from './tests/tally.mjs'

await explainFailure(() => setUp('check'))
const tally = await runChecks([...checks, dependencyArrows])
process.stdout.write(`${summaryLine(tally)}\n`)
process.exitCode = tally.failures.length > 0 ? 1 : 0

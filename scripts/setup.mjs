// `npm run setup`: makes the clone ready to serve, without serving.
import { explainFailure } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(() => setUp('serve'))

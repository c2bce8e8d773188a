// `npm run generate`, second step: writes docs/methods.md, the list of all methods, from proto/.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { methodsPage } from './checks/methods.mjs'
import { root } from './setup/child-process.mjs'

writeFileSync(join(root, 'docs', 'methods.md'), methodsPage())

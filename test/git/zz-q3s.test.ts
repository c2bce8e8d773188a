import { it } from 'vitest'
import { execSync } from 'node:child_process'
import { importHistory } from '../support/histories.ts'
import { mergeHistory } from '../support/merge-histories.ts'
import { seededRandom } from '../transport/rest/random.ts'
it('dump', () => {
  let st: Record<string, number> = {}
  const n=(k:string)=>{st[k]=(st[k]??0)+1}
  for (const seed of [1,2,3,4]) {
  const random = seededRandom(seed)
  const histories = Array.from({ length: 80 }, (_, n) => mergeHistory(random, `history-${n}`))
  const d=`/tmp/q3/seed${seed}`
  execSync(`rm -rf ${d}; git init -q --bare ${d}`)
  importHistory(d, histories.flatMap(({ commits }) => commits))
  for (const h of histories) {
    const mb = execSync(`git -C ${d} merge-base --all ${h.base} ${h.head} || true`).toString().trim().split('\n').filter(Boolean)
    n(`merge bases ${mb.length}`)
    const l = execSync(`git -C ${d} rev-list --cherry-mark --right-only --max-parents=1 ${h.base}...${h.head}`).toString()
    if (l.includes('=')) n('has patch-equal'); n(`picks ${l.split('\n').length-1}`)
    if (execSync(`git -C ${d} rev-list --min-parents=2 ${h.head} ^${h.base}`).toString()) n('merges in head')
    const raw = execSync(`git -C ${d} log --format= --raw -M ${h.base} ${h.head}`).toString()
    for (const [k,re] of Object.entries({rename:/ R\d+\t/, copymode:/^:100644 100755/m, symlink:/ 120000 /, type:/ T\t/, gitlink:/ 160000 /})) if (re.test(raw)) n(k)
  } }
  console.log(st)
}, 100000)

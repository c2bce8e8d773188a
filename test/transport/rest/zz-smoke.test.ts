import { it } from 'vitest'
import { serve } from './things.ts'
it('smoke', async () => {
  const s = await serve({things: {
    GetThing: (r, c) => ({ name: r.name, size: 3n, tagNames: [c.url, c.protocolName, String(c.signal.aborted)] }),
    ListThings: () => ({ things: [{name:'a'}], total: 30n }),
    async *WatchThings() { yield {name:'1'}; yield {name:'2'}; throw new Error('x') },
    ReplaceThing: (r) => r,
    async Upload(rs: AsyncIterable<any>) { let n=0; for await (const r of rs) n += r.content.data.length; return {name:'u', size: BigInt(n)} },
  }}, {onError: (e) => console.log('onError', e)})
  const show = async (p: string, init?: RequestInit) => { const r = await fetch(s.url + p, init); console.log(p, r.status, JSON.stringify([...r.headers]), await r.text()) }
  await show('/things/a%2Fb?depth=3')
  await show('/things/a?depth=x')
  await show('/things?limit=10&page=2&x=1')
  await show('/things:watch')
  await show('/nope')
  await show('/things/a', {method:'PUT', body: '{"size":"5"}'})
  await show('/things/a', {method:'PATCH'})
  await show('/things/a', {method:'OPTIONS'})
  await show('/things/a', {method:'HEAD'})
  await show('/things/a/content', {method:'POST', body: 'x'.repeat(200000)})
  await show('/things', {method:'POST', body: '{}'})
  console.log(s.rest.routes().map(r=>r.method+' '+r.template+' '+r.rpc+' '+r.status))
  await s.close()
})

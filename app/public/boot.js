// Runs before the first paint, so that a stored theme never flashes. ?theme=light|dark wins over what was stored.
// The console forbids code made from text; the schema library would try it once, and the browser would report it.
globalThis.__zod_globalConfig = { jitless: true }
;(() => {
  const asked = new URLSearchParams(location.search).get('theme')
  let stored = null
  try {
    stored = localStorage.getItem('quorumscope.theme')
    if (localStorage.getItem('quorumscope.motion') === 'reduced') document.documentElement.dataset.motion = 'reduced'
  } catch {
    // Storage may be forbidden; the system preference then decides.
  }
  const theme = asked ?? stored
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
})()

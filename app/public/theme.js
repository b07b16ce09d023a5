// Runs before the first paint, so that a stored theme never flashes. ?theme=light|dark wins over what was stored.
;(() => {
  const asked = new URLSearchParams(location.search).get('theme')
  let stored = null
  try {
    stored = localStorage.getItem('quorumscope.theme')
  } catch {
    // Storage may be forbidden; the system preference then decides.
  }
  const theme = asked ?? stored
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
})()

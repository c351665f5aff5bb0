// The start of the page: checks what the browser offers before any other module is parsed.
const modern = 'replaceChildren' in Element.prototype && 'ResizeObserver' in window && 'at' in Array.prototype
  && 'replaceAll' in String.prototype && 'roundRect' in CanvasRenderingContext2D.prototype;

if (modern) import('./app.js').then(function (page) { return page.startPage(function () { return import('./views.js'); }); });
else document.getElementById('too-old').hidden = false;
